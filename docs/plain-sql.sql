-- From a private table to published answers, in any DuckDB client. Load the macros first: .read sqlpriv.sql

-- 1. The private table, here a made-up one: 3,000 stays in a hospital. Which values there could be is public, and not read off it.
CREATE TABLE stays AS
  SELECT 18 + (i * i * 7 + i) % 70 AS age, 14850 + least(i % 97, 6) AS zip,
    CASE WHEN i % 13 = 0 THEN 'mumps' WHEN i % 3 = 0 THEN 'cold' ELSE 'flu' END AS ill, 1 + (i * i) % 5 AS nights
  FROM range(3000) AS r(i);
CREATE TABLE possible_ages AS SELECT unnest(range(18, 98)) AS age;
CREATE TABLE possible_zips AS SELECT unnest(range(14850, 14870)) AS zip;
CREATE TABLE possible_ills AS SELECT unnest(['cold', 'flu', 'mumps']) AS ill;

-- 2. Hierarchies of the public values.
CREATE TABLE hierarchy_age AS FROM priv.hierarchy_ranges('possible_ages', 'age', [10, 30], 0);
CREATE TABLE hierarchy_zip AS FROM priv.hierarchy_mask('possible_zips', 'zip', 5);

-- 3. Check, generalize, suppress, and check again. These are tables (CREATE TABLE AS): a view would read the private table.
SELECT 'as it is' AS step, k FROM priv.k_anonymity('stays', ['age', 'zip']);
CREATE TABLE coarse AS SELECT age, zip, ill FROM priv.generalize('stays', MAP {'age': 1, 'zip': 0});
SELECT 'generalized' AS step, k FROM priv.k_anonymity('coarse', ['age', 'zip']);
CREATE TABLE kept AS FROM priv.suppress('coarse', ['age', 'zip'], 5);
SELECT 'suppressed' AS step, k FROM priv.k_anonymity('kept', ['age', 'zip']);
SELECT 'suppressed' AS step, distinct_l FROM priv.l_diversity('kept', ['age', 'zip'], 'ill');

-- 4. Publish noisy counts: the odds of whatever is said about a person's row change by a factor of at most 20. A fresh key (openssl rand -hex 32),
-- one table made once: plain SQL keeps no ledger.
CREATE TABLE possible AS SELECT ill, nights FROM possible_ills, range(1, 6) AS n(nights);
SET VARIABLE p = (SELECT p FROM priv.bag_choice(3000, 15, 20));
SET VARIABLE q = (SELECT q FROM priv.bag_choice(3000, 15, 20));
CREATE TABLE published AS
  FROM priv.noisy_counts('stays', 'possible', ['ill', 'nights'], getvariable('p'), getvariable('q'), 'a secret of my own, 64 digits long');

-- 5. Estimate from what is published: a count, a sum at another confidence, and every group of the domain.
CREATE TABLE answer_count AS FROM priv.noisy_counts_estimate('published', 'possible', 'nights > 2', getvariable('p'), getvariable('q'));
CREATE TABLE answer_sum AS
  FROM priv.noisy_counts_estimate('published', 'possible', 'ill <> ''flu''', getvariable('p'), getvariable('q'), 'nights', 0.9);
CREATE TABLE answer_groups AS FROM priv.noisy_counts_estimates('published', 'possible', ['ill'], 'true', getvariable('p'), getvariable('q'));
FROM answer_count;
FROM answer_sum;
FROM answer_groups ORDER BY ill;

-- 6. The same table sampled: k-anonymous rows with differential privacy, for a node that was fixed beforehand.
CREATE TABLE to_sample AS SELECT age, ill FROM stays;
CREATE TABLE possible_sample AS FROM possible_ages, possible_ills;
CREATE TABLE sampled AS FROM priv.sdgs('to_sample', MAP {'age': 2}, MAP {}, 20, 0.2, 'another secret, as long as this');
CREATE TABLE answer_sample AS FROM priv.sdgs_estimate('sampled', 'age < 45 AND ill = ''flu''', 20, 0.2, 'possible_sample', MAP {'age': 2}, MAP {});
FROM priv.sdgs_guarantee(20, 0.2, 1.0, 3000);
FROM answer_sample;
