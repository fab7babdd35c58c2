"""What the names of a query stand for: tables, columns, subqueries, and the rows that are left to aggregate."""
