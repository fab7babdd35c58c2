-- alpha_beta_parameters(d, gamma, adversary, choice) -> alpha, beta
-- The parameters of the alpha-beta algorithm (Rastogi et al. 2007) that keep every posterior at or below gamma for priors
-- of at most d. adversary 'exclusive' knows who is in the table (section 6); 'independent' does not (Theorem 4.3), and then
-- choice is 'paper' (half of the rows are kept) or 'tight' (as many as may be). For 'exclusive' choice is 'default'.
-- nulls: none of the arguments may be NULL.
-- guarantee: exclusive: posterior <= gamma, reached exactly. independent: also d/gamma <= posterior/prior; against an
-- exclusive adversary 'tight' protects little, see alpha_beta_guarantee.
-- example: FROM priv.alpha_beta_parameters(0.1, 0.5, 'independent', 'paper')
-- expect: [(0.444444, 0.0555556)]
CREATE MACRO alpha_beta_parameters(d, gamma, adversary, choice) AS TABLE
SELECT kept - beta AS alpha, beta
FROM (
  SELECT kept, CASE WHEN adversary = 'exclusive' THEN odds / (1 + odds) ELSE kept * odds END AS beta
  FROM (
    SELECT _prior_odds(_share_of_one(d), _share_of_one(gamma)) AS odds, CASE
        WHEN CAST(d AS DOUBLE) >= CAST(gamma AS DOUBLE) THEN error('sqlpriv: gamma must be above d: no posterior can be below its prior')
        WHEN adversary = 'exclusive' AND choice = 'default' THEN 0.5::DOUBLE
        WHEN adversary = 'independent' AND choice = 'tight' THEN 1 - CAST(d AS DOUBLE) / CAST(gamma AS DOUBLE)
        WHEN adversary = 'independent' AND choice = 'paper' AND CAST(d AS DOUBLE) / CAST(gamma AS DOUBLE) <= 0.5 THEN 0.5::DOUBLE
        WHEN adversary = 'independent' AND choice = 'paper' THEN error('sqlpriv: d is above gamma/2, so half of the rows cannot be kept; choose tight')
        ELSE error('sqlpriv: adversary is exclusive (choice default) or independent (choice paper or tight)')
      END AS kept
  )
);

-- alpha_beta_guarantee(d, alpha, beta) -> independent, exclusive, shrinks, dp_epsilon
-- What parameters promise: the largest posterior of a tuple with prior d for an adversary who believes tuples to be
-- independent, and for one who knows who is in the table; the smallest posterior/prior; and the differential privacy of
-- one tuple's presence.
-- nulls: none of the arguments may be NULL.
-- guarantee: these are the values themselves, reached by some view; compare them with the gamma you want.
-- example: FROM priv.alpha_beta_guarantee(0.1, 0.4, 0.1)
-- expect: [(0.357143, 0.5, 0.581395, 1.609438)]
CREATE MACRO alpha_beta_guarantee(d, alpha, beta) AS TABLE
SELECT _posterior(prior, kept, noise) AS independent, prior * kept * (1 - noise) / (prior * kept * (1 - noise) + (1 - prior) * (1 - kept) * noise) AS exclusive,
  (1 - kept) / (prior * (1 - kept) + (1 - prior) * (1 - noise)) AS shrinks,
  CASE WHEN noise = 0 OR kept = 1 THEN CAST('Infinity' AS DOUBLE) ELSE ln(greatest(kept / noise, (1 - noise) / (1 - kept))) END AS dp_epsilon
FROM (SELECT _share_of_one(d) AS prior, _share_of_one(CAST(alpha AS DOUBLE) + CAST(beta AS DOUBLE)) AS kept, _share_of_one(beta) AS noise);

-- alpha_beta_error(n, m, alpha, beta, hits, domain_hits) -> rows, error
-- What to expect of a view of n rows in a domain of m tuples: its number of rows, and the standard error of the estimate
-- of a count whose true value is `hits`, the condition being met by `domain_hits` tuples of the domain.
-- nulls: none of the arguments may be NULL.
-- guarantee: exact expectation and standard deviation of Algorithm 3's estimate.
-- example: FROM priv.alpha_beta_error(30000, 648023040, 0.499, 0.001, 15000, 324011520)
-- expect: [(662993.04, 1146.71034)]
CREATE MACRO alpha_beta_error(n, m, alpha, beta, hits, domain_hits) AS TABLE
SELECT n * kept + (m - n) * noise AS rows,
  sqrt(hits * kept * (1 - kept) + (domain_hits - hits) * noise * (1 - noise)) / (kept - noise) AS error
FROM (SELECT CAST(alpha AS DOUBLE) + CAST(beta AS DOUBLE) AS kept, CAST(beta AS DOUBLE) AS noise);

-- frapp_parameters(d, gamma, m) -> retention
-- The probability with which FRAPP keeps a record (Agrawal and Haritsa 2005) so that every posterior of a record's value
-- is at most gamma for priors of at most d: the amplification bound 1/(1 + R(m - 1)), R = d(1 - gamma)/(gamma(1 - d)).
-- nulls: none of the arguments may be NULL.
-- guarantee: posterior of one record at most gamma, reached exactly; the number of records is public.
-- example: FROM priv.frapp_parameters(0.1, 0.5, 10)
-- expect: [(0.5,)]
CREATE MACRO frapp_parameters(d, gamma, m) AS TABLE
SELECT CASE
    WHEN CAST(d AS DOUBLE) >= CAST(gamma AS DOUBLE) THEN error('sqlpriv: gamma must be above d: no posterior can be below its prior')
    ELSE 1 / (1 + _prior_odds(_share_of_one(d), _share_of_one(gamma)) * (CAST(m AS DOUBLE) - 1))
  END AS retention;

-- R, the odds of the prior over the odds of the posterior.
CREATE MACRO _prior_odds(d, gamma) AS (d * (1 - gamma) / (gamma * (1 - d)));
-- The posterior of a tuple that is in the view.
CREATE MACRO _posterior(prior, kept, noise) AS (prior * kept / (prior * kept + (1 - prior) * noise));
CREATE MACRO _share_of_one(number) AS
CASE WHEN TRY_CAST(number AS DOUBLE) BETWEEN 0 AND 1 THEN CAST(number AS DOUBLE)
  ELSE error('sqlpriv: d, gamma, alpha and beta are probabilities, from 0 to 1') END;
