(start-task! workflow-ident subject data) ;; → task-id (string)
