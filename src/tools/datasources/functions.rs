//! The functions that a query may call. They only compute a value from their arguments or return
//! the time.
//!
//! This is an allow list. The functions that read files, wait, lock, write sequences, change
//! settings or run other queries are too many to deny one by one, and every database version adds
//! more.

use crate::store::datasources::DatabaseKind;

/// Allowed in all three kinds of database. A database without one of them reports an error.
const COMMON: &str = "
abs acos asin atan atan2 avg bit_and bit_or bit_xor bit_length ceil ceiling char_length
character_length coalesce concat concat_ws cos cot count cume_dist current_date current_time
current_timestamp degrees dense_rank every exp first_value floor greatest hex if ifnull iif instr
lag last_value lead least left length ln localtime localtimestamp log log10 log2 lower lpad ltrim
max min mod now nth_value ntile nullif octet_length percent_rank pi position pow power radians rank
replace reverse right round row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp
substr substring sum tan trim trunc truncate upper var_pop var_samp variance
group_concat string_agg total regexp_replace regexp_like regexp_substr regexp_instr ascii char chr
space unhex random rand";

const POSTGRES: &str = "
age any_value array array_agg array_append array_cat array_dims array_length array_lower array_position
array_positions array_prepend array_remove array_to_string array_upper bool_and bool_or btrim
cardinality cbrt clock_timestamp corr covar_pop covar_samp date_bin date_part date_trunc decode
div encode extract factorial format gcd initcap isfinite json_agg json_array_elements
json_array_elements_text json_array_length json_build_array json_build_object json_each
json_each_text json_extract_path json_extract_path_text json_object_agg json_object_keys
json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length
jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_query
jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_typeof justify_days justify_hours
justify_interval lcm make_date make_interval make_time make_timestamp make_timestamptz md5 mode
num_nonnulls num_nulls overlay percentile_cont percentile_disc regexp_count regexp_match
regexp_matches regexp_split_to_array regexp_split_to_table regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope row_to_json scale sha256 sha512 split_part starts_with
statement_timestamp string_to_array string_to_table strpos timezone to_char to_date to_hex to_json
to_jsonb to_number to_timestamp to_tsquery to_tsvector plainto_tsquery websearch_to_tsquery ts_rank
transaction_timestamp translate unnest width_bucket generate_series generate_subscripts lower_inc
upper_inc isempty host masklen network quote_literal quote_ident width grouping";

const MYSQL: &str = "
adddate addtime bin bit_count conv convert_tz crc32 curdate curtime date date_add date_format date_sub
datediff day dayname dayofmonth dayofweek dayofyear elt export_set field find_in_set format
from_days from_unixtime hour inet_ntoa inet_aton isnull json_array json_arrayagg json_contains
json_extract json_keys json_length json_object json_objectagg json_search json_type json_unquote
json_valid json_value last_day lcase locate makedate maketime md5 microsecond mid minute month
monthname oct ord period_add period_diff quarter sec_to_time second sha1 sha2 std str_to_date
strcmp subdate substring_index subtime sysdate time time_format time_to_sec timediff timestamp
timestampadd timestampdiff to_base64 from_base64 to_days to_seconds ucase unix_timestamp
utc_date utc_time utc_timestamp week weekday weekofyear year yearweek any_value median
percentile_cont percentile_disc";

const SQLITE: &str = "
date datetime glob json json_array json_array_length json_each json_extract json_group_array
json_group_object json_object json_tree json_type json_valid julianday like likelihood likely
quote soundex strftime time timediff typeof unicode unixepoch unlikely";

/// Functions that return rows and can be used in place of a table.
const ROWS: &str = "
generate_series generate_subscripts unnest json_array_elements json_array_elements_text json_each
json_each_text json_object_keys jsonb_array_elements jsonb_array_elements_text jsonb_each
jsonb_each_text jsonb_object_keys regexp_matches regexp_split_to_table string_to_table json_tree";

fn lists(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// Whether a query may call the function. `name` is in lower case.
pub fn is_allowed(kind: DatabaseKind, name: &str) -> bool {
    let own = match kind {
        DatabaseKind::Postgres => POSTGRES,
        DatabaseKind::Mysql => MYSQL,
        DatabaseKind::Sqlite => SQLITE,
    };
    lists(COMMON, name) || lists(own, name)
}

/// Whether a query may select from the function.
pub fn gives_rows(kind: DatabaseKind, name: &str) -> bool {
    let is_here = match kind {
        DatabaseKind::Postgres => name != "json_tree",
        DatabaseKind::Mysql => false,
        DatabaseKind::Sqlite => ["json_each", "json_tree"].contains(&name),
    };
    is_here && lists(ROWS, name)
}
