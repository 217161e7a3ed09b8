(require '[sandbar.mcp.tasks :as tasks])

(defn handle-bulk-validate
  "MCP tool handler that validates all instances of a class.
   Long-running for large class hierarchies."
  [id params]
  (let [class-ident (:class params)
        task-id     (tasks/start-task! :validation/all-instances
                                       class-ident
                                       {:requested-by (-> params :_identity :db/id)})]
    {:jsonrpc "2.0"
     :id      id
     :result  {:content [{:type "text"
                          :text (str "Validation started. Task: " task-id)}]
               :taskId  task-id}}))
