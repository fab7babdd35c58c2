"""A year of a hospital, generated: the same seed gives the same table on every DuckDB.

Its randomness is the md5 of (seed, row, purpose), because DuckDB's own `hash` and `random` may
change between versions, and it meets additions and multiplications only, because a logarithm may
differ between machines.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb

from sqlpriv.core.engine import open_memory
from sqlpriv.core.sqltext import quoted

_YEAR_STARTS = "DATE '2024-01-01'"

_NATIONALITIES = {
    "'German'": 768,
    "'Turkish'": 54,
    "'Polish'": 38,
    "'Syrian'": 30,
    "'Ukrainian'": 28,
    "'Romanian'": 22,
    "'Italian'": 19,
    "'Greek'": 14,
    "'Croatian'": 11,
    "'Japanese'": 9,
    "'Moroccan'": 5,
    "'Icelandic'": 2,
}
# [youngest, years up to the oldest]: hospitals see the old more often than the young.
_AGES = {
    "[0, 5]": 60,
    "[5, 13]": 60,
    "[18, 12]": 110,
    "[30, 15]": 140,
    "[45, 20]": 270,
    "[65, 15]": 240,
    "[80, 20]": 120,
}
_SEXES = {"'F'": 520, "'M'": 477, "'X'": 3}
_ADMISSIONS_OF_A_PATIENT = {"1": 850, "2": 100, "3": 35, "4": 15}

# How often an age group has the diagnosis, how much more or less often women and men have it (in
# per cent), and the usual days in bed.
_DIAGNOSES = """(VALUES
    --                                            child young middle old   F    M   days
    ('Heart failure',           'Circulatory',      0,    2,   30,  120,  90, 110,   9),
    ('Atrial fibrillation',     'Circulatory',      0,    4,   30,   80,  90, 110,   4),
    ('Myocardial infarction',   'Circulatory',      0,    3,   40,   50,  60, 140,   6),
    ('Stroke',                  'Circulatory',      0,    3,   25,   75,  95, 105,  10),
    ('Hypertension',            'Circulatory',      0,    8,   30,   35, 110,  90,   3),
    ('Pneumonia',               'Respiratory',     30,   12,   25,   70,  90, 110,   8),
    ('COPD',                    'Respiratory',      0,    2,   35,   50,  90, 110,   7),
    ('Asthma',                  'Respiratory',     30,   12,   10,    6, 105,  95,   3),
    ('Acute bronchitis',        'Respiratory',     60,    5,    5,   10, 100, 100,   3),
    ('Tonsillitis',             'Respiratory',     45,   25,    4,    1, 105,  95,   3),
    ('Appendicitis',            'Digestive',       45,   35,   12,    5,  95, 105,   4),
    ('Gallstones',              'Digestive',        2,   30,   45,   35, 130,  70,   4),
    ('Inguinal hernia',         'Digestive',       20,   12,   25,   25,  15, 185,   2),
    ('Gastroenteritis',         'Digestive',       80,   25,   18,   25, 105,  95,   3),
    ('Alcoholic liver disease', 'Digestive',        0,    4,   20,   10,  45, 155,   8),
    ('Type 2 diabetes',         'Metabolic',        0,    6,   30,   35,  90, 110,   6),
    ('Obesity',                 'Metabolic',        4,   15,   18,    4, 140,  60,   4),
    ('Dehydration',             'Metabolic',       15,    4,    4,   30, 110,  90,   3),
    ('Breast cancer',           'Neoplasm',         0,   10,   30,   25, 199,   1,   4),
    ('Prostate cancer',         'Neoplasm',         0,    0,   20,   30,   0, 200,   5),
    ('Lung cancer',             'Neoplasm',         0,    1,   25,   25,  75, 125,   7),
    ('Colorectal cancer',       'Neoplasm',         0,    2,   20,   30,  90, 110,   9),
    ('Leukaemia',               'Neoplasm',         8,    3,    6,   10,  85, 115,  14),
    ('Depression',              'Mental',          10,   45,   40,   15, 125,  75,  25),
    ('Schizophrenia',           'Mental',           0,   20,   12,    3,  85, 115,  28),
    ('Alcohol dependence',      'Mental',           0,   30,   40,    8,  50, 150,   8),
    ('Hip fracture',            'Injury',           2,    3,   12,   65, 135,  65,  13),
    ('Concussion',              'Injury',          70,   25,   15,   25,  90, 110,   2),
    ('Urinary tract infection', 'Genitourinary',   20,   15,   12,   40, 130,  70,   6),
    ('Delivery',                'Pregnancy',        0,  160,    0,    0, 200,   0,   3),
    ('HIV disease',             'Infection',        0,    3,    3,    1,  40, 160,   9)
) AS diagnoses(diagnosis, chapter, child, young, middle, old, female, male, days)"""


class HospitalFiles(NamedTuple):
    """Where `write` put the two tables."""

    admissions: Path
    diagnosis: Path


def create(con: duckdb.DuckDBPyConnection, table: str = "hospital", rows: int = 24000, seed: int = 7) -> None:
    """Create `table`, one row an admission, and `<table>_diagnosis`, the taxonomy of diagnoses.

    About 15% of the patients come more than once, one row in 200 is an exact copy of another, and
    zip, nationality and diagnosis are sometimes unknown (NULL). The taxonomy is a hierarchy:
    the diagnosis, its chapter, and `*` for all of them.
    """
    copies = rows // 200
    con.execute(
        f"CREATE TABLE {quoted(table)} AS {_admissions()}",
        {"seed": seed, "admissions": rows - copies, "copies": copies},
    ).fetchall()
    con.execute(
        f"""CREATE TABLE {quoted(table + "_diagnosis")} AS
        SELECT diagnosis, chapter, '*' AS top FROM {_DIAGNOSES}
        UNION ALL SELECT NULL, 'unknown', '*'
        ORDER BY chapter, diagnosis NULLS LAST"""
    ).fetchall()


def write(folder: Path, rows: int = 24000, seed: int = 7) -> HospitalFiles:
    """Write both tables as Parquet files into `folder`, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    files = HospitalFiles(folder / "hospital.parquet", folder / "hospital_diagnosis.parquet")
    with open_memory() as con:
        create(con, rows=rows, seed=seed)
        con.table("hospital").write_parquet(str(files.admissions))
        con.table("hospital_diagnosis").write_parquet(str(files.diagnosis))
    return files


def _draw(purpose: str, *keys: str) -> str:
    """SQL for a number in [0, 1) that only the seed, the keys and the purpose decide."""
    text = " || '|' || ".join(f"CAST({key} AS VARCHAR)" for key in ("$seed", *keys))
    digits = f"substr(md5({text} || '|{purpose}'), 1, 13)"
    return f"(CAST('0x' || {digits} AS BIGINT) / CAST(4503599627370496 AS DOUBLE))"


def _pick(draw: str, weights: Mapping[str, int]) -> str:
    """SQL for one of the expressions in `weights`, each as likely as its weight says."""
    total = sum(weights.values())
    branches = []
    reached = 0
    for expression, weight in weights.items():
        reached += weight
        branches.append(f"WHEN {draw} * {total} < {reached} THEN {expression}")
    return f"CASE {' '.join(branches)} END"


def _admissions() -> str:
    return f"""
    WITH draws AS (
        SELECT
            number,
            {_draw("zip", "number")} AS zip_draw,
            {_draw("age band", "number")} AS age_band_draw,
            {_draw("age", "number")} AS age_draw,
            {_draw("sex", "number")} AS sex_draw,
            {_draw("nationality", "number")} AS nationality_draw,
            {_draw("visits", "number")} AS visits_draw
        FROM range($admissions) AS patients(number)
    ),
    patients AS (
        SELECT
            number,
            -- 60 zips in six areas; the square makes the first ones populous, the last ones small
            CAST(floor(60 * zip_draw * zip_draw) AS INTEGER) AS zip_rank,
            {_pick("age_band_draw", _AGES)} AS ages,
            ages[1] + ages[2] * age_draw AS age,
            {_pick("sex_draw", _SEXES)} AS sex,
            {_pick("nationality_draw", _NATIONALITIES)} AS nationality,
            {_pick("visits_draw", _ADMISSIONS_OF_A_PATIENT)} AS visits
        FROM draws
    ),
    visits AS (
        SELECT
            *,
            CASE
                WHEN age < 18 THEN 'child' WHEN age < 45 THEN 'young'
                WHEN age < 65 THEN 'middle' ELSE 'old'
            END AS age_group,
            -- Whoever comes back often comes back for the same thing: the draw of the first visit.
            CASE
                WHEN {_draw("again", "number", "visit")} < 0.45
                    THEN {_draw("diagnosis", "number", "0")}
                ELSE {_draw("diagnosis", "number", "visit")}
            END AS diagnosis_draw
        FROM (SELECT *, unnest(range(visits)) AS visit FROM patients) AS each_visit
        ORDER BY number, visit
        LIMIT $admissions
    ),
    frequencies AS (
        SELECT diagnosis, days, female, male,
            unnest(['child', 'young', 'middle', 'old']) AS age_group,
            unnest([child, young, middle, old]) AS frequency
        FROM {_DIAGNOSES}
    ),
    weights AS (
        SELECT diagnosis, days, age_group,
            unnest(['F', 'M', 'X']) AS sex,
            unnest([female, male, least(female, male)]) * frequency AS weight
        FROM frequencies
    ),
    shares AS (
        SELECT *,
            sum(weight) OVER (PARTITION BY age_group, sex ORDER BY diagnosis) AS reached,
            sum(weight) OVER (PARTITION BY age_group, sex) AS total
        FROM weights
    ),
    admissions AS (
        SELECT
            'P' || (100000 + number) AS patient_id,
            CASE WHEN {_draw("zip known", "number")} >= 0.008 THEN
                ['402', '404', '405', '406', '408', '414'][1 + zip_rank % 6]
                || (11 + 8 * (zip_rank // 6))
            END AS zip,
            {_YEAR_STARTS} - (1 + CAST(floor(age * 365.25) AS INTEGER)) AS birth_date,
            sex,
            CASE WHEN {_draw("nationality known", "number")} >= 0.015 THEN nationality END
                AS nationality,
            -- Each visit has its own part of the patient's year, with a gap after it.
            {_draw("first day", "number")}
                + (visit + 0.8 * {_draw("day", "number", "visit")}) / visits AS year_draw,
            {_YEAR_STARTS} + CAST(floor((year_draw - floor(year_draw)) * 366) AS INTEGER)
                AS admission_date,
            CASE WHEN {_draw("diagnosis known", "number", "visit")} >= 0.01 THEN diagnosis END
                AS diagnosis,
            {_draw("stay", "number", "visit")} AS stay_draw,
            -- Most stay about as long as usual, a few much longer, and the very old longer still.
            1 + CAST(floor(
                days * (0.3 + 0.7 * stay_draw + 2 * stay_draw * stay_draw * stay_draw * stay_draw
                    * stay_draw * stay_draw) * CASE WHEN age >= 75 THEN 1.3 ELSE 1 END
            ) AS INTEGER) AS length_of_stay
        FROM visits
        JOIN shares USING (age_group, sex)
        WHERE diagnosis_draw * total < reached AND diagnosis_draw * total >= reached - weight
    ),
    copies AS (
        SELECT * FROM admissions
        ORDER BY md5(CAST($seed AS VARCHAR) || patient_id || admission_date)
        LIMIT $copies
    )
    SELECT * EXCLUDE (stay_draw, year_draw)
    FROM (SELECT * FROM admissions UNION ALL SELECT * FROM copies) AS everything
    ORDER BY admission_date, patient_id
    """
