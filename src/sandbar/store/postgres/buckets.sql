-- One that was larger before is at most empty now. The clock is read again once the row is ours: who
-- had to wait for it would bring an older time.

-- name: take
WITH taken AS (
  INSERT INTO bucket AS b (ws, id, full_us, wait_us)
  VALUES (%(ws)s, %(id)s, clock_us() + %(interval_us)s, 0)
  ON CONFLICT (ws, id) DO UPDATE SET (full_us, wait_us) = (
    SELECT CASE WHEN w.wait_us > 0 THEN f.full_us ELSE f.full_us + %(interval_us)s END,
           greatest(w.wait_us, 0)
    FROM (SELECT clock_us() AS now_us OFFSET 0) c
    CROSS JOIN LATERAL (
      SELECT greatest(least(b.full_us, c.now_us + %(whole_us)s), c.now_us) AS full_us) f
    CROSS JOIN LATERAL (
      SELECT f.full_us + %(interval_us)s - c.now_us - %(whole_us)s AS wait_us) w)
  RETURNING b.wait_us
)
SELECT wait_us FROM taken
