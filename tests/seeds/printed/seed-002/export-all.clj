(defn handle-export-all
  "MCP tool: export every memory entity to markdown. Long-running."
  [id params]
  (let [scope    (:scope params)
        task-id  (tasks/start-task! :export/all-memories
                                    scope
                                    {:format :markdown
                                     :requested-at (java.util.Date.)})]
    {:jsonrpc "2.0"
     :id      id
     :result  {:content [{:type "text"
                          :text (str "Exporting " scope " memories to markdown.\n"
                                     "Track progress: tasks/get { taskId: \"" task-id "\" }")}]
               :taskId  task-id}}))
