"""The small tables that the examples of the macros' pages use: `sqlpriv docs` shows them, this makes them run."""

from __future__ import annotations

import duckdb

RELEASE = """
-- A randomized release of students: Example 4.1 of the alpha-beta paper, alpha = 2/3 and beta = 1/150.
CREATE SCHEMA IF NOT EXISTS "sqlpriv_release";
CREATE SCHEMA IF NOT EXISTS "domain";
CREATE OR REPLACE TABLE "sqlpriv_release"."parameters" ("name" VARCHAR, "value" DOUBLE);
CREATE OR REPLACE TABLE "sqlpriv_release"."attributes" AS
  FROM (VALUES ('age', 20), ('nationality', 3), ('score', 20)) AS v("name", size);
CREATE OR REPLACE TABLE "sqlpriv_release"."domain_weights" AS
  FROM (VALUES (0, -0.01e0, 0.0101e0, 0.004848e0)) AS v(power, weight, variance, skew);
CREATE OR REPLACE TABLE "sqlpriv_release"."published" AS SELECT *,
  1.5e0 AS "__weight", 0.72e0 AS "__variance", 0.3456e0 AS "__skew" FROM
  (VALUES (36, 'British', 99), (38, 'Indian', 99), (32, 'American', 82), (36, 'American', 97), (30, 'Indian', 85),
   (33, 'British', 90), (20, 'Indian', 100))
  AS v(age, nationality, score);
CREATE OR REPLACE TABLE "domain"."age" AS SELECT x AS "value", NULL::DOUBLE AS "share" FROM range(20, 40) AS r(x);
CREATE OR REPLACE TABLE "domain"."nationality" AS
  SELECT x AS "value", NULL::DOUBLE AS "share" FROM (VALUES ('British'), ('Indian'), ('American')) AS v(x);
CREATE OR REPLACE TABLE "domain"."score" AS SELECT x AS "value", NULL::DOUBLE AS "share" FROM range(81, 101) AS r(x);
"""
_TABLES = """
-- The lecture's 4-anonymous inpatients: the class of age 30-40 all have cancer.
CREATE OR REPLACE TABLE patients AS FROM (VALUES
  ('130**', '< 30', 'Heart'), ('130**', '< 30', 'Heart'), ('130**', '< 30', 'Flu'), ('130**', '< 30', 'Flu'),
  ('1485*', '> 40', 'Cancer'), ('1485*', '> 40', 'Heart'), ('1485*', '> 40', 'Flu'), ('1485*', '> 40', 'Flu'),
  ('130**', '30-40', 'Cancer'), ('130**', '30-40', 'Cancer'), ('130**', '30-40', 'Cancer'),
  ('130**', '30-40', 'Cancer')) AS v(zip, age, disease);
-- The same, counted.
CREATE OR REPLACE TABLE patient_counts AS SELECT *, count(*) AS number FROM patients GROUP BY ALL;
CREATE OR REPLACE TABLE diseases AS FROM (VALUES
  ('Heart', 'chronic', '*'), ('Cancer', 'chronic', '*'), ('Flu', 'infection', '*')) AS v(disease, kind, top);
-- All rows that two of its columns could have.
CREATE OR REPLACE TABLE possible_patients AS FROM (VALUES ('130**'), ('1485*')) AS z(zip),
  (VALUES ('Cancer'), ('Flu'), ('Heart'), ('Mumps')) AS d(disease);
-- Randomized views of them: by priv.alpha_beta, and with signed counts.
CREATE OR REPLACE TABLE seen_patients AS FROM (VALUES ('130**', 'Cancer'), ('130**', 'Flu'),
  ('1485*', 'Flu')) AS v(zip, disease);
CREATE OR REPLACE TABLE signed_patients AS FROM (VALUES ('130**', 'Cancer', 1.0), ('130**', 'Cancer', 1.0),
  ('130**', 'Flu', 1.0), ('130**', 'Flu', 1.0), ('1485*', 'Mumps', -1.0)) AS v(zip, disease, "__weight");
-- Salaries of three teams (Li et al. 2007), in thousands.
CREATE OR REPLACE TABLE salaries AS FROM (VALUES ('a', 3), ('a', 4), ('a', 5), ('b', 6), ('b', 11), ('b', 8),
  ('c', 7), ('c', 9), ('c', 10)) AS v(team, salary);
-- Table 3 of the epsilon-privacy paper, and what two adversaries believe.
CREATE OR REPLACE TABLE gotham AS
  SELECT age, gender, disease FROM (VALUES ('< 40', 'M', 'Flu', 200), ('< 40', 'M', 'Cancer', 300),
    ('>= 40', 'M', 'Flu', 1800), ('>= 40', 'M', 'Cancer', 2700), ('>= 40', 'F', 'Flu', 18000),
    ('>= 40', 'F', 'Cancer', 2000)) AS v(age, gender, disease, copies), range(copies);
CREATE OR REPLACE TABLE metropolis AS FROM (VALUES ('Flu', 12000), ('Cancer', 18000)) AS v(value, sigma);
CREATE OR REPLACE TABLE wishes AS FROM (VALUES ('Ann', 'chronic', 2), ('Bob', '*', 3.5)) AS v(id, node, at_most);
CREATE OR REPLACE TABLE believed AS FROM (VALUES ('Flu', 0.4), ('Cancer', 0.6)) AS v(value, share);
-- The lecture's two buckets, and the town they come from.
CREATE OR REPLACE TABLE wards AS FROM (VALUES ('men', 'Flu'), ('men', 'Flu'), ('men', 'Lung'), ('men', 'Lung'),
  ('men', 'Mumps'), ('women', 'Flu'), ('women', 'Flu'), ('women', 'Breast'), ('women', 'Ovarian'),
  ('women', 'Heart')) AS v(ward, disease);
CREATE OR REPLACE TABLE town AS SELECT ward FROM (VALUES ('men', 8), ('women', 6), ('children', 9)) AS v(ward, people),
  range(people);
-- Four people, their ages published as they are.
CREATE OR REPLACE TABLE ages AS FROM (VALUES (1, 31), (2, 31), (3, 44), (4, 58)) AS v(id, age);
CREATE OR REPLACE TABLE ages_published AS FROM ages;
-- Labels for two of them, a hierarchy of all ages, and the table generalized to its second level.
CREATE OR REPLACE TABLE age_labels AS FROM (VALUES (3, '40-49'), (4, NULL)) AS v(id, age);
CREATE OR REPLACE TABLE age_ranges AS FROM (VALUES ('31', '30-39', '20-39', '*'), ('44', '40-49', '40-59', '*'),
  ('58', '50-59', '40-59', '*')) AS v(value, level1, level2, level3);
CREATE OR REPLACE TABLE id_labels AS FROM (VALUES (1, '*'), (2, '*'), (3, '*'), (4, '*')) AS v(id, top);
CREATE OR REPLACE TABLE ages_general AS FROM (VALUES (1, '20-39'), (2, '20-39'), (3, '40-59'),
  (4, '40-59')) AS v(id, age);
-- All ages that people could have, and a sample of them by priv.sdgs.
CREATE OR REPLACE TABLE age_values AS SELECT DISTINCT age FROM ages;
CREATE OR REPLACE TABLE sampled_ages AS FROM (VALUES ('40-59'), ('40-59'), ('40-59')) AS v(age);
-- Two admissions, and diseases by kind: each with what is above it.
CREATE OR REPLACE TABLE admissions AS FROM (VALUES (DATE '2024-03-17'), (DATE '2025-11-02')) AS v(admitted);
CREATE OR REPLACE TABLE disease_tree AS FROM (VALUES ('Heart', 'chronic'), ('Cancer', 'chronic'), ('chronic', 'any'),
  ('Flu', 'any')) AS v(disease, kind);
-- Four members of a club as they are disclosed, a phone book, and the hierarchies of both.
CREATE OR REPLACE TABLE members AS FROM (VALUES (1, 'Ithaca', '1975-05-10'), (2, 'Ithaca', '1975-05'),
  (3, 'New York', '*'), (4, 'Boston', '1980')) AS v(id, city, born);
CREATE OR REPLACE TABLE phone_book AS FROM (VALUES ('Ann', 'Ithaca', '1975-05-10'), ('Bob', 'Ithaca', '1975-05-20'),
  ('Cyd', 'Albany', '1980-01-01'), ('Dan', 'New York', '1980'), ('Eve', NULL, '1975-06-01')) AS v(name, city, born);
CREATE OR REPLACE TABLE town_book AS FROM (VALUES ('Ann', 'New York'), ('Bob', NULL), ('Cyd', 'Ithaca'),
  ('Dan', 'New York')) AS v(name, city);
CREATE OR REPLACE TABLE minded AS FROM (VALUES (1, 'city', 1), (1, 'born', 3), (2, 'city', 1), (2, 'born', 2),
  (3, 'city', 2), (3, 'born', 2), (4, 'city', 0), (4, 'born', 4)) AS v(id, attribute, weight);
-- What may be disclosed of two records, the second of which two people have.
CREATE OR REPLACE TABLE offers AS FROM (VALUES (1, 1, 0.0, 1), (1, 1, 2.0, 2), (2, 2, 0.0, 0), (2, 2, 0.75, 4),
  (2, 2, 0.5, 1)) AS v(record, copies, loss, utility);
-- Two guests whose names were written down by ear, and the first one with what linking them could reveal.
CREATE OR REPLACE TABLE guests AS FROM (VALUES (1, 'Anne', 'Ithaca'), (2, 'Zoe', 'Ithaca')) AS v(id, guest, city);
CREATE OR REPLACE TABLE linked_guests AS FROM (VALUES (1, 'Ithaca', '1975-05-10'), (1, 'Ithaca', NULL),
  (2, 'Ithaca', NULL)) AS v(id, city, born);
CREATE OR REPLACE TABLE cities AS FROM (VALUES ('Ithaca', 'New York', '*'), ('Albany', 'New York', '*'),
  ('Boston', 'Massachusetts', '*')) AS v(city, state, top);
CREATE OR REPLACE TABLE births AS FROM (VALUES ('1975-05-10', '1975-05', '1975', '*'),
  ('1975-05-20', '1975-05', '1975', '*'), ('1975-06-01', '1975-06', '1975', '*'),
  ('1980-01-01', '1980-01', '1980', '*')) AS v(day, month, year, top);
"""


def create(con: duckdb.DuckDBPyConnection) -> None:
    """Create the example tables in the connection's current schema."""
    con.execute(_TABLES + RELEASE).fetchall()
