import { expect, test } from 'vitest';
import { sourceCard } from '../../src/console/pages/source-card.js';
import type { SourceSeen } from '../../src/console/ports/activity.js';

const now = Date.parse('2026-10-20T12:00:00.000Z');
const at = '2026-10-20T11:59:00.000Z';

const acme: SourceSeen = {
  source: 'acme',
  health: 'ok',
  state: 'following',
  meaning: 'following the feed',
  followed: true,
  paused_at: null,
  readable: 1,
  rows: 100,
  rows_incoming: 0,
  pages_incoming: 0,
  listing_started_at: null,
  last_outcome: 'done',
  complete_up_to: at,
  cursor_saved_at: at,
  cursor_expires_at: null,
  last_success_at: at,
  last_tick_at: at,
  last_error: null,
  last_error_at: null,
  last_error_code: null,
  retry_at: null,
  quarantine_open: 0,
  awaiting_deletion: 0,
  names_incomplete: 0,
  identity_included: 1,
  names_note: null,
  concerns: [],
  cursor_age_seconds: 60,
  cursor_days_left: 89,
  cursor_old: false,
  quota: null,
  webhook_spacing: null,
  listing: null,
};

const card = (over: Partial<SourceSeen>) => sourceCard({ ...acme, ...over }, now).text;

test('a source card shows how many rows await deletion, and the command that deletes them', () => {
  const text = card({ health: 'attention', awaiting_deletion: 2 });
  expect(text).toContain('2 rows missing from the last listing await deletion');
  expect(text).toContain('rosterd sync --source acme --accept-deletions');
  expect(card({})).not.toContain('deletion');
});

test('a source card shows how far a listing is, with a bar once it is known how many records there are', () => {
  const far = (rows_expected: number | null) =>
    card({
      ...{ rows_incoming: 300, pages_incoming: 3, listing_started_at: at },
      listing: { text: 'so far', rows_expected },
    });
  expect(far(1_200)).toMatch(/So far\..*3 pages since.*<progress max="1200" value="300">/s);
  expect(far(200)).toContain('<progress max="300" value="300">');
  expect(far(null)).toContain('So far.');
  expect(far(null)).not.toContain('<progress');
  expect(card({})).not.toContain('class="progress"');
});

test('a source card shows that names are incomplete, and why', () => {
  const note = 'names are incomplete: re-listing is under way';
  expect(card({ names_incomplete: 1, names_note: note })).toContain(
    'Names are incomplete: re-listing is under way.',
  );
  expect(card({})).not.toContain('incomplete');
});

const quota = {
  of: 'token',
  limit: 1_000,
  left: 230,
  resets_at: '2026-10-20T12:30:00.000Z',
  shared_by: 1,
  shared_elsewhere: 0,
} as const;
test.each([
  [null, 'not followed by this daemon'],
  [{ reason: 'plenty', gap_seconds: 0, wait_seconds: 0, quota }, 'read at once'],
  [
    { reason: 'scarce', gap_seconds: 8.41, wait_seconds: 3, quota },
    'read every 8.5 s: the quota has to last',
  ],
  [
    { reason: 'scarce', gap_seconds: 95, wait_seconds: 3, quota: { ...quota, of: 'address' } },
    'read every 1 min 35 s: the quota of this address has to last',
  ],
  [
    { reason: 'spent', gap_seconds: 1_800, wait_seconds: 1_800, quota },
    'wait 30 min 0 s: the quota is used up',
  ],
  [{ reason: 'backing_off', gap_seconds: 0, wait_seconds: 12, quota }, 'wait 12 s: the last tick failed'],
  [
    { reason: 'halted', gap_seconds: 0, wait_seconds: 60, quota: null },
    'retry once an hour until a person acts',
  ],
] as const)('a source card shows the webhook spacing %j', (webhook_spacing, words) => {
  expect(card({ webhook_spacing })).toContain(`<dt>Webhooks</dt><dd>${words}`);
});

test.each([
  [1, 0, '</time></dd>'],
  [2, 0, '</time>, for 2 sources with webhooks</dd>'],
  [3, 2, '</time>, for 3 sources with webhooks, 2 of them on other hosts</dd>'],
])(
  'a source card says that %i sources, %i of them elsewhere, divide a scarce quota',
  (shared_by, shared_elsewhere, words) => {
    const spacing = { reason: 'scarce', gap_seconds: 30, wait_seconds: 3 } as const;
    const webhook_spacing = { ...spacing, quota: { ...quota, shared_by, shared_elsewhere } };
    expect(card({ webhook_spacing })).toContain(words);
  },
);
