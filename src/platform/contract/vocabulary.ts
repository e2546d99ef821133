/** The allowed values of the catalog. A filter with any other value is rejected with an error that lists these. */
export const industries = [
  'ar_and_vr',
  'agriculture_and_agtech',
  'artificial_intelligence',
  'biotech',
  'blockchain_and_web3',
  'edtech',
  'energy',
  'fintech_and_finance',
  'food_tech',
  'games',
  'health_and_fitness',
  'healthcare',
  'manufacturing',
  'mobile_apps',
  'robotics',
  'science_and_r_and_d',
  'transportation',
  'travel_and_tourism',
  'bars_and_clubs',
  'brewery',
  'cafe_and_food_truck',
  'events_and_festivals',
  'education',
  'distillery_and_vineyards',
  'fashion',
  'film',
  'media',
  'music',
  'restaurant',
  'sports',
  'real_estate',
  'pets',
  'recreation',
  'infrastructure_and_construction',
  'childcare',
  'sustainability',
  'sports_tech',
  'home_tech',
  'devtools',
  'clean_tech',
  'beauty',
  'entertainment',
  'technology',
  'brick_and_mortar',
  'food_and_beverage',
  'climate_change',
  'alcohol_and_vice',
  'consumer_goods',
  'hardware',
  'moonshots',
] as const;

export const businessModels = [
  'b2b',
  'b2c',
  'subscription',
  'saas',
  'service',
  'marketplace',
  'ecommerce',
  'retail',
] as const;

export const securityLabels = {
  safe: 'SAFE',
  equity: 'Equity',
  convertible_note: 'Convertible Note',
  revenue_share: 'Revenue Share',
  debt: 'Debt',
  fund: 'Fund',
  other: 'Other',
} as const;
export type SecurityType = keyof typeof securityLabels;
export const securityTypes = Object.keys(securityLabels) as [SecurityType, ...SecurityType[]];

/** `other` occurs only on rounds that a company reports from another platform. */
export const exemptionLabels = {
  reg_cf: 'Reg CF',
  reg_d: 'Reg D',
  reg_a: 'Reg A',
  reg_s: 'Reg S',
  ecsp: 'ECSP',
  other: 'Other',
} as const;
export type ExemptionFamily = keyof typeof exemptionLabels;
export const exemptionFamilies = Object.keys(exemptionLabels) as [ExemptionFamily, ...ExemptionFamily[]];
export const exemptionSubtypes = ['506b', '506c'] as const;

export const offeringStatuses = ['upcoming', 'open', 'closed', 'canceled'] as const;
export const exploreStatuses = ['live', 'closed', 'all'] as const;
export const exploreSorts = ['most_raised', 'closing_soon', 'newest', 'most_investors'] as const;
export const exploreExemptions = ['reg_cf', 'reg_d'] as const;

export const disclosureSections = [
  'business',
  'financial_statements',
  'ratios',
  'current_position',
  'financial_condition',
  'financial_statement_documents',
  'investment_documents',
  'risks',
  'use_of_funds',
  'directors',
  'officers',
  'voting_power',
  'capital_structure',
  'prior_offerings',
  'outstanding_notes',
  'outstanding_debts',
  'related_parties',
] as const;
export type DisclosureSection = (typeof disclosureSections)[number];

export const pitchSections = ['story', 'perks'] as const;
export const updateKinds = ['update', 'note', 'spotlight', 'bounty'] as const;
export const updateVisibilities = ['public', 'investors', 'community', 'founders', 'private'] as const;
export const questionSorts = ['relevance', 'recent', 'upvoted', 'unanswered'] as const;

export const positionStatuses = ['active', 'exited', 'sold', 'failed'] as const;
export const exitReasons = ['ipo', 'acquisition', 'buyback', 'failed', 'winding_down'] as const;
export const auditStatuses = ['success', 'failure', 'denied'] as const;
