-- It misses M.
select 'F' as sex, 'a woman' as label, '*' as top
