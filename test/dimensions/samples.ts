/** Responses of the platform, each with fields to replace. */

type Set = Readonly<Record<string, unknown>>;

const exemption = { family: 'reg_cf', subtype: null, label: 'Reg CF' };
const security = { type: 'safe', label: 'SAFE' };

export const summary = (id: string, set: Set = {}) => ({
  offering_id: id,
  current: true,
  status: 'open',
  exemption,
  security,
  amount_raised: '123.45',
  amount_raised_cents: 12_345,
  investor_count: 3,
  opened_at: '2025-03-14T10:00:00Z',
  closed_at: null,
  ...set,
});

export const company = (set: Set = {}, id = 'co_1') => ({
  data: {
    id,
    type: 'company',
    attributes: {
      name: 'Tidal Labs',
      tagline: 'Waves.',
      url: 'https://invest.example/tidal-labs',
      logo_url: null,
      card_image_url: null,
      location: { city: 'Portland', state: 'ME', country: 'United States' },
      raising: true,
      current_raise: { offering_id: 'ofr_1', offering_ids: ['ofr_1', 'ofr_2'] },
      past_rounds: [
        {
          offering_id: null,
          source: 'reported',
          exemption: { family: 'other', label: 'Other' },
          amount_raised: '5.00',
          amount_raised_cents: 500,
          investor_count: 7,
        },
      ],
      service_rounds: [summary('ofr_1')],
      totals: {
        raised_on_service_all_time: '123.45',
        raised_on_service_all_time_cents: 12_345,
        profile_total_raised_cents: 12_845,
        profile_reported_off_platform_cents: 500,
        profile_includes_past_rounds: true,
      },
      ...set,
    },
  },
});

export const offering = (id: string, set: Set = {}, etag = 'abc') => ({
  data: {
    id,
    type: 'offering',
    attributes: {
      company_name: 'Tidal Labs',
      exemption,
      security: { ...security, terms: { uncapped: true } },
      intended_security: null,
      status: 'open',
      testing_the_waters: false,
      funding_target_cents: 5_000_000,
      max_funding_target_cents: 500_000_000,
      min_investment_cents: 10_000,
      amount_raised: '123.45',
      amount_raised_cents: 12_345,
      investor_count: 3,
      started_at: '2025-03-14T10:00:00Z',
      closes_at: null,
      closed_at: null,
      followed: false,
      ...set,
    },
    company: 'co_1',
    warnings: [],
    etag,
  },
});

export const stats = (id: string, set: Set = {}) => ({
  data: {
    offering: id,
    company: 'co_1',
    currency: 'usd',
    by_status: { active: { count: 2, committed_cents: 30, raised_cents: 20 } },
    total: { count: 2, committed_cents: 30, raised_cents: 20 },
    ...set,
  },
  meta: { source: 'published', published_through: '2026-10-31T00:00:00Z' },
});

export const updates = (ids: readonly string[], set: Set = {}) => ({
  data: ids.map((id) => ({
    id,
    type: 'company_update',
    attributes: {
      kind: 'update',
      title: `Post ${id}`,
      excerpt: 'secret body',
      published_at: '2026-10-01T00:00:00Z',
      pinned: false,
      visibility: 'public',
      author: { name: 'Ida' },
      comments_count: 1,
      likes_count: 2,
      url: `https://invest.example/tidal-labs/updates/${id}`,
      ...set,
    },
  })),
  meta: { company: 'co_1', has_more: false, page_count: 1, next_cursor: null },
});
