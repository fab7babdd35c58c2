select age, sex from {{ ref('patients') }}
