cd ~/src/sandbar
lein repl
(require '[sandbar.core :refer [go]])
(go)  ; HTTP on :8080
