"""Words of the language that may stand before a bracket without being a function that is called."""

from .words import words

# Reserved, or meaningful only in this place; a quoted name is never one of them.
BEFORE_BRACKET = words("""
    ALL AND ANY ARRAY AS ASOF BETWEEN BY CASE COLUMNS CROSS CUBE DISTINCT DIV ELSE ESCAPE EXCEPT EXCLUDE
    EXISTS FILTER FOR FROM FULL GROUP GROUPING HAVING ILIKE IN INDEX INNER INTERSECT INTERVAL IS JOIN KEY
    LATERAL LIKE LIMIT MATCH MATERIALIZED MINUS NATURAL NESTED NOT OF OFFSET ON ONLY OPERATOR OR OUTER
    OVER OVERLAPS PARTITION PASSING PERCENT PIVOT POSITIONAL QUALIFY RECURSIVE REGEXP RENAME REPEATABLE
    RETURNING RLIKE ROLLUP ROW ROWS SELECT SEPARATOR SETS SIMILAR SOME STRAIGHT_JOIN TABLESAMPLE THEN TO
    UNION UNPIVOT USING VALUES WHEN WHERE WITH WITHIN XOR ZONE AGAINST DESCRIBE SUMMARIZE
""")

# Ways to take a sample, `TABLESAMPLE system (10)`; anywhere else these are names like any other.
SAMPLING = words("BERNOULLI RESERVOIR SYSTEM")

# Types with a size; after AS and :: every name is a type or an alias and needs no list.
SIZED_TYPES = words("""
    BIGINT BINARY BIT BLOB BPCHAR CHAR CHARACTER DATETIME DEC DECIMAL DOUBLE ENUM FIXED FLOAT HALFVEC INT
    INTEGER MEDIUMINT MEDIUMTEXT NCHAR NUMBER NUMERIC NVARCHAR PRECISION REAL SMALLINT SPARSEVEC STRING
    STRUCT TEXT TIME TIMESTAMP TIMESTAMPTZ TIMETZ TINYINT UNION VARBINARY VARBIT VARCHAR VARYING VECTOR
""")

# Functions with a grammar of their own, EXTRACT(year FROM x): sqlglot must see their true names.
OWN_SYNTAX = words("""
    cast char convert extract get_format grouping group_concat json json_array json_arrayagg
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
    listagg normalize overlay position string_agg substring timestampadd timestampdiff
    trim try_cast weight_string xmlagg xmlattributes xmlconcat xmlelement xmlexists xmlforest
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
""")

# Types of PostgreSQL that sqlglot does not expect before a text, as in inet '10.0.0.1'.
TEXT_TYPES = words("""
    BOX CIDR CIRCLE DATEMULTIRANGE DATERANGE HSTORE INET INT4RANGE INT8RANGE JSONPATH LINE LSEG LTREE
    MACADDR MACADDR8 MONEY NUMRANGE OID PG_LSN POINT POLYGON REGCLASS REGNAMESPACE REGPROC REGROLE REGTYPE
    TSQUERY TSRANGE TSTZRANGE TSVECTOR UUID XML
""")
