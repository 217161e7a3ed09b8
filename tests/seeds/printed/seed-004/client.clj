(require '[clj-http.client :as http])
(defn mcp-call [token method params]
(-> (http/post "http://localhost:8080/mcp"
{:headers {"Authorization" (str "Bearer " token)}
:content-type :json
:as :json
:form-params {:jsonrpc "2.0"
:id 1
:method method
:params params}})
:body))
(mcp-call token "tools/list" {})
