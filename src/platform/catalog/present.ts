import { createHash } from 'node:crypto';
import { businessModelLabels, industryLabels } from '../contract/vocabulary.js';
import { isoOrNull } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import type { Services } from '../services.js';
import { dollarsOf, dollarsOrNull } from './money.js';
import type { Round } from './rounds.js';
import { exemptionOf, securityKindOf, securityOf } from './securities.js';
import { siteUrl } from './site.js';
import type { Viewer } from './viewer.js';
import { publiclyVisible, roundVisible } from './visibility.js';

interface OfferingView {
  readonly id: string;
  readonly type: 'offering';
  readonly attributes: object;
  readonly company: string;
  readonly warnings: readonly object[];
  readonly etag: string;
}

/** `siblings` are all rounds of the company, including this one. Those the viewer may see produce warnings. */
export function offeringResource(
  services: Services,
  round: Round,
  siblings: readonly Round[],
  viewer: Viewer,
): OfferingView {
  const attributes = attributesOf(services, round, viewer);
  return {
    id: round.id,
    type: 'offering',
    attributes,
    company: round.company_id,
    warnings: warningsOf(
      round,
      siblings.filter((sibling) => roundVisible(sibling, viewer)),
    ),
    etag: createHash('sha256').update(JSON.stringify(attributes)).digest('hex').slice(0, 16),
  };
}

function attributesOf(services: Services, round: Round, viewer: Viewer): object {
  const reserving = round.testing_the_waters === 1;
  return {
    company_name: round.company_name,
    tagline: round.tagline,
    url: siteUrl(services, round.slug),
    card_image_url: round.card_image_url,
    logo_url: round.logo_url,
    exemption: exemptionOf(round.exemption, round.exemption_subtype),
    security:
      reserving || round.security_type === null
        ? null
        : securityOf(round.security_type, round.security_terms),
    intended_security:
      reserving && round.intended_security_type !== null
        ? securityKindOf(round.intended_security_type)
        : null,
    industries: labelled(round.industries, industryLabels),
    business_models: labelled(round.business_models, businessModelLabels),
    status: round.status,
    testing_the_waters: reserving,
    funding_target: dollarsOrNull(round.funding_target_cents),
    funding_target_cents: round.funding_target_cents,
    max_funding_target: dollarsOrNull(round.max_funding_target_cents),
    max_funding_target_cents: round.max_funding_target_cents,
    min_investment: dollarsOrNull(round.min_investment_cents),
    min_investment_cents: round.min_investment_cents,
    amount_raised: dollarsOf(round.raised_cents),
    amount_raised_cents: writtenSum(round.raised_cents),
    investor_count: round.investor_count,
    started_at: isoOrNull(round.started_at),
    closes_at: round.status === 'open' ? isoOrNull(round.closes_at) : null,
    closed_at: isoOrNull(round.closed_at),
    form_c_url: round.form_c_url,
    spv_legal_name: round.spv_legal_name,
    ...(viewer.userNo === null
      ? {}
      : {
          publicly_visible: publiclyVisible(round),
          invested: viewer.investedIn.offerings.has(round.no),
        }),
    followed: viewer.follows.has(round.company_no),
  };
}

function warningsOf(round: Round, siblings: readonly Round[]): readonly object[] {
  const others = siblings.filter((sibling) => sibling.no !== round.no && sibling.status !== 'canceled');
  const warnings = [];
  if (others.some((other) => other.status === 'open')) {
    warnings.push({
      code: 'concurrent_rounds',
      message: 'The company has other open rounds; the total on its page is larger than these amounts.',
    });
  }
  if (others.some((other) => other.status === 'closed')) {
    warnings.push({
      code: 'prior_rounds',
      message: 'The company has raised before; these amounts cover this offering only.',
    });
  }
  return warnings;
}

/** A stored value outside the vocabulary is its own label. */
function labelled(json: string, labels: Readonly<Record<string, string>>): readonly object[] {
  return (JSON.parse(json) as string[]).map((type) => ({ type, label: labels[type] ?? type }));
}
