-- How many records the platform says a first listing will read. Null where it does not say.
ALTER TABLE sources ADD COLUMN rows_expected bigint;

-- What the platform's stats endpoint said beyond the other columns. Null in rows of earlier versions until the platform is
-- asked again.
ALTER TABLE round_stat_rows ADD COLUMN extra text COLLATE "C";

CREATE OR REPLACE VIEW round_stats AS
SELECT s.name AS source, t.offering_id, t.company_id, t.status, t.currency, t.investments, t.committed_cents,
       t.raised_cents, t.published_through, t.asked_at,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name,
       t.extra
FROM round_stat_rows t JOIN sources s ON s.no = t.source_no;

CREATE OR REPLACE VIEW round_history AS
SELECT s.name AS source, o.id, o.company_id, o.name, o.kind, o.exemption, o.status, o.testing_the_waters, o.currency,
       o.target_cents, o.max_target_cents, o.min_investment_cents, o.raised_cents_reported,
       o.investor_count_reported, o.opened_at, o.closes_at, o.closed_at, o.terms, o.unavailable, o.extra,
       o.valid_from, o.change_seq, o.valid_to, o.ended_by,
       (SELECT c.name FROM company_rows c WHERE c.source_no = o.source_no AND c.id = o.company_id) AS company_name
FROM offering_history_rows o JOIN sources s ON s.no = o.source_no;

-- A change has the names of its investment, round or post as it is now or, when it is gone, of its last version.
-- A query without names pays nothing: the planner leaves out the join, whose columns are unique. Of a UNION ALL at most one
-- part has a row. With LIMIT 1 the planner expects a fraction of its cost, and so compiles no page of the feed (JIT).

CREATE OR REPLACE VIEW changes AS
SELECT c.seq, s.name AS source, c.id, coalesce(c.about || '_', '') || c.kind AS kind, c.fields, c.reason, c.at,
  CASE WHEN c.about IS NOT NULL THEN c.old_values WHEN c.kind IN ('changed', 'removed') AND c.at > coalesce(s.history_from, '') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"company_id"') > 0 THEN ',"company_id":' || coalesce(to_json(v.company_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || coalesce(to_json(v.offering_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || coalesce(to_json(v.investor_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"status"') > 0 THEN ',"status":' || coalesce(to_json(v.status)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"group_label"') > 0 THEN ',"group_label":' || coalesce(to_json(v.group_label)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || coalesce(to_json(v.investment_type)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || coalesce(to_json(v.offering_type)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || coalesce(to_json(v.applied_at)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"currency"') > 0 THEN ',"currency":' || coalesce(to_json(v.currency)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || coalesce(v.committed_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || coalesce(v.investment_size_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || coalesce(v.in_escrow_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || coalesce(v.raised_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"shares"') > 0 THEN ',"shares":' || coalesce(to_json(v.shares)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || coalesce(to_json(v.average_share_price)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || coalesce(v.needs_whitelisting::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"visible"') > 0 THEN ',"visible":' || coalesce(v.visible::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || coalesce(to_json(v.converted_to)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || coalesce(to_json(v.converted_from)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || coalesce(v.investor_deactivated::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || coalesce(v.via_entity::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN v.extra END, 'null') ELSE '' END, 2) || '}'
    FROM history_rows v
    WHERE v.valid_to = c.at AND v.history_no = (
      SELECT h.history_no FROM history_rows h
      WHERE h.id = c.id AND h.source_no = c.source_no AND h.valid_from <= c.at AND h.change_seq < c.seq
      ORDER BY h.valid_from DESC, h.change_seq DESC, h.valid_to DESC LIMIT 1)
  ) END COLLATE "C" AS before,
  CASE WHEN c.about IS NOT NULL THEN c.new_values WHEN c.kind IN ('changed', 'added') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"company_id"') > 0 THEN ',"company_id":' || coalesce(to_json(v.company_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || coalesce(to_json(v.offering_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || coalesce(to_json(v.investor_id)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"status"') > 0 THEN ',"status":' || coalesce(to_json(v.status)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"group_label"') > 0 THEN ',"group_label":' || coalesce(to_json(v.group_label)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || coalesce(to_json(v.investment_type)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || coalesce(to_json(v.offering_type)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || coalesce(to_json(v.applied_at)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"currency"') > 0 THEN ',"currency":' || coalesce(to_json(v.currency)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || coalesce(v.committed_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || coalesce(v.investment_size_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || coalesce(v.in_escrow_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || coalesce(v.raised_cents::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"shares"') > 0 THEN ',"shares":' || coalesce(to_json(v.shares)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || coalesce(to_json(v.average_share_price)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || coalesce(v.needs_whitelisting::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"visible"') > 0 THEN ',"visible":' || coalesce(v.visible::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || coalesce(to_json(v.converted_to)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || coalesce(to_json(v.converted_from)::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || coalesce(v.investor_deactivated::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || coalesce(v.via_entity::text, 'null') ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR strpos(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN v.extra END, 'null') ELSE '' END, 2) || '}'
    FROM (
      SELECT r.company_id, r.offering_id, r.investor_id, r.status, r.group_label, r.investment_type,
             r.offering_type, r.applied_at, r.currency, r.committed_cents, r.investment_size_cents,
             r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price, r.needs_whitelisting,
             r.visible, r.converted_to, r.converted_from, r.investor_deactivated, r.via_entity, r.blockers,
             r.contracts, r.extra
      FROM investment_rows r
      WHERE r.id = c.id AND r.source_no = c.source_no AND r.change_seq = c.seq
      UNION ALL
      SELECT h.company_id, h.offering_id, h.investor_id, h.status, h.group_label, h.investment_type,
             h.offering_type, h.applied_at, h.currency, h.committed_cents, h.investment_size_cents,
             h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price, h.needs_whitelisting,
             h.visible, h.converted_to, h.converted_from, h.investor_deactivated, h.via_entity, h.blockers,
             h.contracts, h.extra
      FROM history_rows h
      WHERE h.change_seq = c.seq AND h.history_no = (
        SELECT n.history_no FROM history_rows n
        WHERE n.id = c.id AND n.source_no = c.source_no AND n.valid_from >= c.at AND n.change_seq >= c.seq
        ORDER BY n.valid_from, n.change_seq LIMIT 1)
      LIMIT 1) v
  ) END COLLATE "C" AS after,
  (SELECT n.name FROM company_rows n
   WHERE n.source_no = c.source_no AND n.id = CASE WHEN i.row_no IS NOT NULL THEN i.company_id ELSE (
     SELECT (SELECT h.company_id FROM history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
             ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1)
     WHERE c.about IS NULL
     UNION ALL
     SELECT c.id WHERE c.about = 'company'
     UNION ALL
     SELECT r.company_id FROM offering_rows r WHERE c.about = 'round' AND r.id = c.id AND r.source_no = c.source_no
     UNION ALL
     SELECT (SELECT h.company_id FROM offering_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
             ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1)
     WHERE c.about = 'round' AND NOT EXISTS (SELECT 1 FROM offering_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
     UNION ALL
     SELECT coalesce((SELECT u.company_id FROM update_rows u WHERE u.id = c.id AND u.source_no = c.source_no),
                     coalesce(c.new_values, c.old_values)::json ->> 'company_id')
     WHERE c.about = 'update'
     LIMIT 1) END
   UNION ALL
   SELECT (SELECT h.name FROM company_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
           ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1)
   WHERE c.about = 'company' AND NOT EXISTS (SELECT 1 FROM company_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
   LIMIT 1) AS company_name,
  (SELECT n.name FROM offering_rows n
   WHERE n.source_no = c.source_no AND n.id = CASE WHEN i.row_no IS NOT NULL THEN i.offering_id ELSE (
     SELECT (SELECT h.offering_id FROM history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
             ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1)
     WHERE c.about IS NULL
     UNION ALL
     SELECT c.id WHERE c.about = 'round'
     LIMIT 1) END
   UNION ALL
   SELECT (SELECT h.name FROM offering_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
           ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1)
   WHERE c.about = 'round' AND NOT EXISTS (SELECT 1 FROM offering_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
   LIMIT 1) AS round_name
FROM change_rows c JOIN sources s ON s.no = c.source_no
LEFT JOIN investment_rows i ON c.about IS NULL AND i.id = c.id AND i.source_no = c.source_no
WHERE s.erasing_since IS NULL;
