"""PostgreSQL: the functions of its manual that only compute or look, and those of well-known extensions.

The read-only transaction behind this list stops most writes, but not files read by `pg_read_file`, locks,
messages and signals to other sessions, waiting, or (before version 16) large objects made by `lo_create`.
"""

from plugbay_scheduled_query.core.guard.calls import STANDARD, functions

NUMBERS = """
acosd acosh asind asinh atan2d atand atanh bit bit_and bit_count bit_length bit_or bit_xor bool_and
bool_or cbrt cosd cosh cotd div erf erfc every factorial gamma gcd get_bit get_byte lcm lgamma min_scale
numeric_inc random random_normal scale set_bit set_byte sind sinh tand tanh trim_scale trunc width_bucket
"""

TEXTS = """
ascii btrim casefold chr convert convert_from convert_to crc32 crc32c decode encode format initcap
is_normalized md5 normalize parse_ident quote_ident quote_literal quote_nullable regexp_count regexp_instr
regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table
regexp_substr repeat sha224 sha256 sha384 sha512 split_part starts_with string_to_array string_to_table
strpos to_ascii to_bin to_char to_hex to_number to_oct unicode_assigned unistr
"""

TIMES = """
age clock_timestamp date date_add date_bin date_part date_subtract date_trunc isfinite justify_days
justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now
overlaps statement_timestamp time timeofday timestamp timestamptz timetz timezone to_date to_timestamp
transaction_timestamp
"""

NESTED = """
any_value array_agg array_append array_cat array_dims array_fill array_length array_lower array_ndims
array_position array_positions array_prepend array_remove array_replace array_reverse array_sample
array_shuffle array_sort array_to_json array_to_string array_upper cardinality daterange datemultirange
elem_contained_by_range enum_first enum_last enum_range generate_series generate_subscripts int4multirange
int4range int8multirange int8range isempty lower_inc lower_inf mode multirange num_nonnulls num_nulls
nummultirange numrange range_agg range_intersect_agg range_merge trim_array tsmultirange tsrange
tstzmultirange tstzrange unnest upper_inc upper_inf
"""

JSON = """
json json_agg json_agg_strict json_array json_array_elements json_array_elements_text json_array_length
json_arrayagg json_build_array json_build_object json_each json_each_text json_exists json_extract_path
json_extract_path_text json_object json_object_agg json_object_agg_strict json_object_agg_unique
json_object_agg_unique_strict json_object_keys json_objectagg json_populate_record json_populate_recordset
json_query json_scalar json_serialize json_strip_nulls json_table json_to_record json_to_recordset
json_typeof json_value jsonb jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text
jsonb_array_length jsonb_build_array jsonb_build_object jsonb_concat jsonb_contained jsonb_contains
jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path
jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict
jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_object_keys jsonb_path_exists
jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz
jsonb_populate_record jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty jsonb_set
jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json
to_jsonb xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg
xmlattributes xmlcomment xmlconcat xmlelement xmlforest xmlnamespaces xmlparse xmlpi xmlroot
xmlserialize xmltext
"""

SEARCH = """
array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery
plainto_tsquery querytree setweight strip to_tsquery to_tsvector ts_debug ts_delete ts_filter ts_headline
ts_lexize ts_parse ts_rank ts_rank_cd ts_token_type tsquery_phrase tsvector_to_array websearch_to_tsquery
"""

SHAPES_AND_ADDRESSES = """
abbrev area box bound_box broadcast center circle diagonal diameter family height host hostmask
inet_client_addr inet_client_port inet_merge inet_same_family inet_server_addr inet_server_port isclosed
ishorizontal isopen isparallel isperp isvertical line lseg macaddr8_set7bit masklen netmask network
npoints path pclose point polygon popen radius set_masklen slope width
"""

CASTS = """
bool boolean bpchar bytea cidr float4 float8 inet int2 int4 int8 interval macaddr money name numeric oid
regclass regnamespace regproc regprocedure regrole regtype text uuid varbit varchar xid
"""

SYSTEM = """
acldefault aclexplode col_description current_catalog current_database current_query
current_role current_schema current_schemas current_setting current_user currval format_type
gen_random_uuid getdatabaseencoding has_any_column_privilege has_column_privilege has_database_privilege
has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_largeobject_privilege
has_parameter_privilege has_schema_privilege has_sequence_privilege has_server_privilege
has_table_privilege has_tablespace_privilege has_type_privilege icu_unicode_version lastval makeaclitem
merge_action mxid_age obj_description row_security_active session_user shobj_description
system_user to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc
to_regprocedure to_regrole to_regtype to_regtypemod txid_current_if_assigned txid_current_snapshot
txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin txid_status txid_visible_in_snapshot
unicode_version user uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 version
pg_available_extension_versions pg_available_extensions pg_backend_pid pg_basetype pg_blocking_pids
pg_char_to_encoding pg_client_encoding pg_collation_actual_version pg_collation_for
pg_collation_is_visible pg_column_compression pg_column_is_updatable pg_column_size
pg_column_toast_chunk_id pg_conf_load_time pg_control_checkpoint pg_control_init pg_control_recovery
pg_control_system pg_conversion_is_visible pg_current_snapshot pg_current_wal_flush_lsn
pg_current_wal_insert_lsn pg_current_wal_lsn pg_current_xact_id_if_assigned
pg_database_collation_actual_version pg_database_size pg_describe_object pg_encoding_max_length
pg_encoding_to_char pg_extension_update_paths pg_filenode_relation pg_function_is_visible pg_get_acl
pg_get_catalog_foreign_keys pg_get_constraintdef pg_get_expr pg_get_function_arg_default
pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_object_address
pg_get_partition_constraintdef pg_get_partkeydef pg_get_publication_tables pg_get_replica_identity_index
pg_get_replication_slots pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef
pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_get_triggerdef pg_get_userbyid
pg_get_viewdef pg_get_wait_events pg_get_wal_replay_pause_state pg_has_role pg_identify_object
pg_identify_object_as_address pg_index_column_has_property pg_index_has_property pg_indexam_has_property
pg_indexam_progress_phasename pg_indexes_size pg_input_error_info pg_input_is_valid pg_is_in_recovery
pg_is_other_temp_schema pg_is_wal_replay_paused pg_jit_available pg_last_committed_xact
pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_listening_channels
pg_lock_status pg_lsn pg_my_temp_schema pg_notification_queue_usage pg_opclass_is_visible
pg_operator_is_visible pg_opfamily_is_visible pg_options_to_table pg_partition_ancestors pg_partition_root
pg_partition_tree pg_postmaster_start_time pg_prepared_xact pg_relation_filenode
pg_relation_is_publishable pg_relation_is_updatable pg_relation_size pg_replication_origin_oid
pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters pg_settings_get_flags
pg_show_all_settings pg_size_bytes pg_size_pretty pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin
pg_split_walfile_name pg_statistics_obj_is_visible pg_table_is_visible pg_table_size
pg_tablespace_databases pg_tablespace_location pg_tablespace_size pg_timezone_names pg_total_relation_size
pg_trigger_depth pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible
pg_ts_template_is_visible pg_type_is_visible pg_typeof pg_visible_in_snapshot pg_wal_lsn_diff
pg_walfile_name pg_walfile_name_offset pg_xact_commit_timestamp pg_xact_commit_timestamp_origin
pg_xact_status pg_stat_get_activity pg_stat_get_archiver pg_stat_get_backend_activity
pg_stat_get_backend_idset pg_stat_get_backend_pid pg_stat_get_blocks_fetched pg_stat_get_blocks_hit
pg_stat_get_dead_tuples pg_stat_get_db_numbackends pg_stat_get_db_xact_commit pg_stat_get_db_xact_rollback
pg_stat_get_io pg_stat_get_live_tuples pg_stat_get_numscans pg_stat_get_progress_info
pg_stat_get_snapshot_timestamp pg_stat_get_tuples_deleted pg_stat_get_tuples_inserted
pg_stat_get_tuples_updated pg_stat_get_wal pg_stat_get_wal_receiver pg_stat_get_wal_senders
pg_stat_have_stats pg_stat_statements pg_stat_statements_info pgp_sym_decrypt
"""

EXTENSIONS = """
akeys approximate_row_count armor avals cosine_distance crypt cube_distance daitch_mokotoff digest
difference dmetaphone dmetaphone_alt each earth_distance exist first gen_random_bytes gen_salt
hamming_distance hmac hstore hstore_to_array hstore_to_json hstore_to_jsonb hstore_to_matrix
hypertable_detailed_size hypertable_size icount idx inner_product intset jaccard_distance l1_distance last
l2_distance l2_norm lca levenshtein levenshtein_less_equal ll_to_earth locf interpolate metaphone nlevel
pgstattuple pgstatindex similarity skeys slice sort sort_asc sort_desc soundex strict_word_similarity
subarray subltree subpath svals text2ltree time_bucket time_bucket_gapfill time_weight unaccent uniq
uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v4 uuid_generate_v5 uuid_nil
uuid_ns_dns uuid_ns_oid uuid_ns_url uuid_ns_x500 vector_dims vector_norm word_similarity
"""

POSTGIS = """
box2d box3d geography geometry geometrytype postgis_full_version postgis_version st_3ddistance st_area
st_asbinary st_asewkb st_asewkt st_asgeojson st_asgml st_askml st_asmvt st_asmvtgeom st_astext st_aswkb
st_azimuth st_boundary st_buffer st_centroid st_closestpoint st_clusterdbscan st_clusterkmeans
st_clusterwithin st_collect st_contains st_convexhull st_coveredby st_covers st_crosses st_difference
st_dimension st_disjoint st_distance st_distancesphere st_distancespheroid st_dwithin st_endpoint
st_envelope st_equals st_expand st_extent st_exteriorring st_force2d st_geogfromtext st_geohash
st_geometryfromtext st_geometryn st_geometrytype st_geomfromewkb st_geomfromewkt st_geomfromgeojson
st_geomfromtext st_geomfromwkb st_hausdorffdistance st_hexagongrid st_intersection st_intersects
st_isclosed st_isempty st_isring st_issimple st_isvalid st_isvalidreason st_length st_lineinterpolatepoint
st_linelocatepoint st_linemerge st_linesubstring st_m st_makeenvelope st_makeline st_makepoint
st_makepolygon st_makevalid st_multi st_npoints st_numgeometries st_numpoints st_overlaps st_perimeter
st_point st_pointfromtext st_pointn st_pointonsurface st_polygon st_project st_relate st_scale st_setsrid
st_simplify st_simplifypreservetopology st_snaptogrid st_split st_squaregrid st_srid st_startpoint
st_subdivide st_symdifference st_tileenvelope st_touches st_transform st_translate st_union st_within st_x
st_xmax st_xmin st_y st_ymax st_ymin st_z
"""

DANGEROUS = {
    "it makes or changes large objects": "lo_* loread lowrite lo",
    "it opens a connection to another server": """
        dblink* postgres_fdw_* http http_* https_* net_* aws_* query_export_to_s3 table_import_from_s3 invoke
    """,
    "it waits on purpose": "pg_sleep*",
    "it can work for hours and cannot be stopped": "xpath* xmlexists xmltable",
    "it takes or frees locks": "pg_advisory* pg_try_advisory*",
    "it reads or writes files of the server": """
        pg_read* pg_ls* pg_stat_file pg_file* pg_current_logfile pg_hba_* pg_ident_* pg_show_all_file_settings
        pg_logdir_ls pg_relation_filepath
    """,
    "it reaches into other sessions": "pg_cancel_backend pg_terminate_backend pg_signal* pg_log_*",
    "it changes settings": "set_config setseed pg_reload_conf pg_rotate_*",
    "it moves a sequence": "nextval setval",
    "it runs SQL given as text": """
        *_to_xml* ts_stat ts_rewrite crosstab* connectby xpath_table plpgsql_* xslt_process exec execute
        pg_background_*
    """,
    "it sends messages to other sessions": "pg_notify",
    "it changes the state of the transaction": "txid_current pg_current_xact_id pg_export_snapshot",
    "it can change or reach into the server": """
        pg_* binary_upgrade_* brin_* gin_clean_* amvalidate currtid* suppress_* tsvector_update_* ri_fkey_*
        fmgr_* unique_key_recheck shell_in *handler *_recv *_send utl_file* fopen fclose put_line dbms_* plpy*
        sys_exec sys_eval
    """,
    "it changes tables": """
        addgeometrycolumn dropgeometry* updategeometrysrid populate_geometry_columns create_hypertable
        drop_chunks add_*_policy remove_*_policy compress_chunk decompress_chunk postgis_*
    """,
}

_PARTS = (
    NUMBERS,
    TEXTS,
    TIMES,
    NESTED,
    JSON,
    SEARCH,
    SHAPES_AND_ADDRESSES,
    CASTS,
    SYSTEM,
    EXTENSIONS,
    POSTGIS,
)
FUNCTIONS = functions(STANDARD + "".join(_PARTS), DANGEROUS)
