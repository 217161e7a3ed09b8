-- New words wait in a list that every search reads whole: 64 kB of them instead of 4 MB, which took
-- 20 ms for each word of a search while anybody wrote.
ALTER INDEX sandbar.search_by_word SET (gin_pending_list_limit = 64);
