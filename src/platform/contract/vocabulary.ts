/** The allowed values of the catalog. A filter with any other value is rejected with an error that lists these. */
/** The values with the labels that responses carry. The platform publishes no labels; these are ours. */
export const industryLabels = {
  ar_and_vr: 'AR and VR',
  agriculture_and_agtech: 'Agriculture and AgTech',
  artificial_intelligence: 'Artificial intelligence',
  biotech: 'Biotech',
  blockchain_and_web3: 'Blockchain and web3',
  edtech: 'EdTech',
  energy: 'Energy',
  fintech_and_finance: 'FinTech and finance',
  food_tech: 'Food tech',
  games: 'Games',
  health_and_fitness: 'Health and fitness',
  healthcare: 'Healthcare',
  manufacturing: 'Manufacturing',
  mobile_apps: 'Mobile apps',
  robotics: 'Robotics',
  science_and_r_and_d: 'Science and R and D',
  transportation: 'Transportation',
  travel_and_tourism: 'Travel and tourism',
  bars_and_clubs: 'Bars and clubs',
  brewery: 'Brewery',
  cafe_and_food_truck: 'Cafe and food truck',
  events_and_festivals: 'Events and festivals',
  education: 'Education',
  distillery_and_vineyards: 'Distillery and vineyards',
  fashion: 'Fashion',
  film: 'Film',
  media: 'Media',
  music: 'Music',
  restaurant: 'Restaurant',
  sports: 'Sports',
  real_estate: 'Real estate',
  pets: 'Pets',
  recreation: 'Recreation',
  infrastructure_and_construction: 'Infrastructure and construction',
  childcare: 'Childcare',
  sustainability: 'Sustainability',
  sports_tech: 'Sports tech',
  home_tech: 'Home tech',
  devtools: 'DevTools',
  clean_tech: 'Clean tech',
  beauty: 'Beauty',
  entertainment: 'Entertainment',
  technology: 'Technology',
  brick_and_mortar: 'Brick and mortar',
  food_and_beverage: 'Food and beverage',
  climate_change: 'Climate change',
  alcohol_and_vice: 'Alcohol and vice',
  consumer_goods: 'Consumer goods',
  hardware: 'Hardware',
  moonshots: 'Moonshots',
} as const;
export type Industry = keyof typeof industryLabels;
export const industries = Object.keys(industryLabels) as [Industry, ...Industry[]];

export const businessModelLabels = {
  b2b: 'B2B',
  b2c: 'B2C',
  subscription: 'Subscription',
  saas: 'SaaS',
  service: 'Service',
  marketplace: 'Marketplace',
  ecommerce: 'E-commerce',
  retail: 'Retail',
} as const;
export type BusinessModel = keyof typeof businessModelLabels;
export const businessModels = Object.keys(businessModelLabels) as [BusinessModel, ...BusinessModel[]];

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
