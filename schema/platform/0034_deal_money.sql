-- What a round asks for stands once, beside what kind of round it is, whichever page tells it. Where the catalog and
-- the syndicate said different amounts, those of the catalog were the public ones; where the catalog said none, the
-- syndicate's are kept.

INSERT INTO offering_terms (offering_no, exemption, exemption_subtype, security_type, funding_target_cents,
  min_investment_cents)
SELECT d.offering_no,
  CASE o.offering_type WHEN 'Reg D' THEN 'reg_d' WHEN 'ECSP' THEN 'ecsp' ELSE 'reg_cf' END,
  CASE o.offering_type WHEN 'Reg D' THEN '506b' END,
  CASE o.investment_type WHEN 'SAFE' THEN 'safe' WHEN 'Equity' THEN 'equity'
    WHEN 'Convertible Note' THEN 'convertible_note' END,
  d.funding_target_cents, d.min_investment_cents
FROM deal_terms d JOIN offerings o ON o.no = d.offering_no
WHERE true ON CONFLICT (offering_no) DO UPDATE SET
  funding_target_cents = coalesce(funding_target_cents, excluded.funding_target_cents),
  min_investment_cents = coalesce(min_investment_cents, excluded.min_investment_cents);

ALTER TABLE deal_terms DROP COLUMN funding_target_cents;
ALTER TABLE deal_terms DROP COLUMN min_investment_cents;
