-- How many records the platform says a first listing will read. Null where it does not say.
ALTER TABLE sources ADD COLUMN rows_expected INTEGER;

-- What the platform's stats endpoint said beyond the other columns. Null in rows of earlier versions until the platform is
-- asked again.
ALTER TABLE round_stat_rows ADD COLUMN extra TEXT;

DROP VIEW round_stats;
CREATE VIEW round_stats AS
SELECT s.name AS source, t.offering_id, t.company_id, t.status, t.currency, t.investments, t.committed_cents,
       t.raised_cents, t.published_through, t.asked_at,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name,
       t.extra
FROM round_stat_rows t JOIN sources s ON s.no = t.source_no;

DROP VIEW round_history;
CREATE VIEW round_history AS
SELECT s.name AS source, o.id, o.company_id, o.name, o.kind, o.exemption, o.status, o.testing_the_waters, o.currency,
       o.target_cents, o.max_target_cents, o.min_investment_cents, o.raised_cents_reported,
       o.investor_count_reported, o.opened_at, o.closes_at, o.closed_at, o.terms, o.unavailable, o.extra,
       o.valid_from, o.change_seq, o.valid_to, o.ended_by,
       (SELECT c.name FROM company_rows c WHERE c.source_no = o.source_no AND c.id = o.company_id) AS company_name
FROM offering_history_rows o JOIN sources s ON s.no = o.source_no;

-- A change has the names of its investment, round or post as it is now or, when it is gone, of its last version.
-- A query without names pays nothing. A join would be read for a count(*) as well.

DROP VIEW changes;
CREATE VIEW changes AS
SELECT c.seq, s.name AS source, c.id, coalesce(c.about || '_', '') || c.kind AS kind, c.fields, c.reason, c.at,
  CASE WHEN c.about IS NOT NULL THEN c.old_values WHEN c.kind IN ('changed', 'removed') AND c.at > coalesce(s.history_from, '') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
    FROM history_rows v
    WHERE v.valid_to = c.at AND v.history_no = (
      SELECT h.history_no FROM history_rows h
      WHERE h.id = c.id AND h.source_no = c.source_no AND h.valid_from <= c.at AND h.change_seq < c.seq
      ORDER BY h.valid_from DESC, h.change_seq DESC, h.valid_to DESC LIMIT 1)
  ) END AS before,
  CASE WHEN c.about IS NOT NULL THEN c.new_values WHEN c.kind IN ('changed', 'added') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
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
  ) END AS after,
  coalesce(
    (SELECT n.name FROM company_rows n WHERE n.source_no = c.source_no AND n.id = CASE
       WHEN c.about IS NULL THEN coalesce(
         (SELECT r.company_id FROM investment_rows r WHERE r.id = c.id AND r.source_no = c.source_no),
         (SELECT h.company_id FROM history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
            AND NOT EXISTS (SELECT 1 FROM investment_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
          ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1))
       WHEN c.about = 'company' THEN c.id
       WHEN c.about = 'round' THEN coalesce(
         (SELECT r.company_id FROM offering_rows r WHERE r.id = c.id AND r.source_no = c.source_no),
         (SELECT h.company_id FROM offering_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
            AND NOT EXISTS (SELECT 1 FROM offering_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
          ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1))
       WHEN c.about = 'update' THEN coalesce(
         (SELECT u.company_id FROM update_rows u WHERE u.id = c.id AND u.source_no = c.source_no),
         json_extract(coalesce(c.new_values, c.old_values), '$.company_id'))
       END),
    CASE WHEN c.about = 'company' THEN (
      SELECT h.name FROM company_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
        AND NOT EXISTS (SELECT 1 FROM company_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
      ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1) END) AS company_name,
  coalesce(
    (SELECT n.name FROM offering_rows n WHERE n.source_no = c.source_no AND n.id = CASE
       WHEN c.about IS NULL THEN coalesce(
         (SELECT r.offering_id FROM investment_rows r WHERE r.id = c.id AND r.source_no = c.source_no),
         (SELECT h.offering_id FROM history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
            AND NOT EXISTS (SELECT 1 FROM investment_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
          ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1))
       WHEN c.about = 'round' THEN c.id
       END),
    CASE WHEN c.about = 'round' THEN (
      SELECT h.name FROM offering_history_rows h WHERE h.id = c.id AND h.source_no = c.source_no
        AND NOT EXISTS (SELECT 1 FROM offering_rows r WHERE r.id = c.id AND r.source_no = c.source_no)
      ORDER BY h.valid_from DESC, h.history_no DESC LIMIT 1) END) AS round_name
FROM change_rows c JOIN sources s ON s.no = c.source_no
WHERE s.erasing_since IS NULL;
