"""`sandbar stdio`: MCP over stdin and stdout, for clients that start servers themselves."""

from __future__ import annotations

from sandbar.cli.options import DatabaseOption, ProjectsOption, ToolsOption, WorkspaceOption


def stdio(
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
    tools: ToolsOption = None,
    projects: ProjectsOption = None,
) -> None:
    """Speak MCP on stdin and stdout: what Claude Desktop starts.

    Works on the database itself, with or without a running server beside it.
    """
    from pathlib import Path

    from sandbar.cli.calling import opened
    from sandbar.cli.logs import set_up_logs
    from sandbar.mcp.stdio import serve_stdio
    from sandbar.settings import Settings
    from sandbar.verbs import project_home

    settings = Settings.from_environment(
        database=database, workspace=workspace, tools=tools, projects=projects
    )
    set_up_logs(settings.log_level)
    with opened(settings) as db:
        db.allow_projects(settings.projects)
        if settings.projects is not None:
            project_home(Path(settings.projects), settings.workspace, db.workspace.number)
        serve_stdio(db, settings)
