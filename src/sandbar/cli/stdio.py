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

    from sandbar.cli.logs import set_up_logs
    from sandbar.database import open_database
    from sandbar.mcp.stdio import serve_stdio
    from sandbar.settings import Settings
    from sandbar.verbs import project_home

    settings = Settings.from_environment(
        database=database, workspace=workspace, tools=tools, projects=projects
    )
    set_up_logs(settings.log_level)
    where = settings.database, settings.workspace
    with open_database(*where, limits=settings.limits) as opened:
        opened.allow_projects(settings.projects)
        if settings.projects is not None:
            project_home(Path(settings.projects), settings.workspace, opened.workspace.number)
        serve_stdio(opened, settings.tools)
