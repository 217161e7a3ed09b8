;; Running task
{:status "running"
 :state  :validation/in-progress}

;; Successful completion
{:status "completed"
 :state  :validation/passed}

;; Terminal but non-success (e.g., :validation/failed)
{:status "completed"
 :state  :validation/failed}

;; Process not found
{:status "missing"}
