(notifications/tools-list-changed!)
(notifications/resources-updated! uri)
(notifications/prompts-list-changed!)
(notifications/message! :info "Server starting...")
