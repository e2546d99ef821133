-- Unknown fields (`extra`) came with a person and may name one. These views show them only to roles that may read
-- `identities`: for rosterd_analyst they are null. The check is a subquery, so that a statement makes it once.

CREATE OR REPLACE VIEW investments AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason,
       CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN r.extra END AS extra,
       coalesce(r.valid_from, s.listed_at) AS valid_from, coalesce(r.change_seq, s.listed_seq) AS change_seq,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM investment_rows r JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL;

CREATE OR REPLACE VIEW investment_history AS
SELECT s.name AS source, h.id, h.company_id, h.offering_id, h.investor_id, h.status, h.group_label,
       h.investment_type, h.offering_type, h.applied_at, h.currency, h.committed_cents,
       h.investment_size_cents, h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price,
       h.needs_whitelisting, h.visible, h.converted_to, h.converted_from, h.investor_deactivated,
       h.via_entity, h.blockers, h.contracts, h.observed_at, h.reason,
       CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN h.extra END AS extra,
       h.valid_from, h.change_seq, h.valid_to, h.ended_by,
       (SELECT c.name FROM company_rows c WHERE c.source_no = h.source_no AND c.id = h.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = h.source_no AND o.id = h.offering_id) AS round_name
FROM history_rows h JOIN sources s ON s.no = h.source_no
WHERE s.erasing_since IS NULL;

CREATE OR REPLACE VIEW incoming AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason,
       CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN r.extra END AS extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN (
  -- Ids are not unique before they are indexed; of two entries for one the later counts, as it will when published.
  SELECT DISTINCT ON (n.source_no, n.id) n.* FROM investment_rows n JOIN sources u ON u.no = n.source_no
  WHERE u.listed_at IS NULL AND u.erasing_since IS NULL ORDER BY n.source_no, n.id, n.row_no DESC
) r ON r.source_no = s.no
UNION ALL
SELECT s.name, t.id, t.company_id, t.offering_id, t.investor_id, t.status, t.group_label,
       t.investment_type, t.offering_type, t.applied_at, t.currency, t.committed_cents,
       t.investment_size_cents, t.in_escrow_cents, t.raised_cents, t.shares, t.average_share_price,
       t.needs_whitelisting, t.visible, t.converted_to, t.converted_from, t.investor_deactivated,
       t.via_entity, t.blockers, t.contracts, t.observed_at, t.reason,
       CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN t.extra END AS extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name
FROM sources s JOIN staged_rows t ON t.source_no = s.no
WHERE s.erasing_since IS NULL
UNION ALL
SELECT s.name, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason,
       CASE WHEN (SELECT has_table_privilege('identities'::regclass, 'SELECT')) THEN r.extra END AS extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
  AND r.row_no IN (SELECT unnest(p.seen) FROM staged_pages p)
  AND NOT EXISTS (SELECT 1 FROM staged_rows t WHERE t.source_no = r.source_no AND t.id = r.id);

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
  ) END COLLATE "C" AS after
FROM change_rows c JOIN sources s ON s.no = c.source_no
WHERE s.erasing_since IS NULL;
