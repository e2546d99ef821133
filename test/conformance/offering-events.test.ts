import { afterEach, beforeEach, expect, test } from 'vitest';
import { one, run } from '../../src/platform/state/statements.js';
import { deleteDraft } from '../../src/platform/syndicates/lifecycle.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';
import { foundSyndicate } from './syndicate-life.js';
import { createEndpointFor, type EndpointWish, type SubscribedEndpoint } from './webhook-receivers.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform({ limits: false });
});
afterEach(() => world.close());

interface Run {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly told: Readonly<Record<'company' | 'elsewhere' | 'syndicate' | 'unscoped', SubscribedEndpoint>>;
}

/**
 * A round in preparation, run by a company and a syndicate, with every installation that might get its events.
 */
function prepared(syndicateNo: number, id: string): Run {
  const { state } = world.services;
  const place = (index: number) =>
    one<{ no: number; name: string; slug: string }>(
      state,
      'SELECT no, name, slug FROM companies WHERE id = ?',
      [company(world, index).id],
    ) ?? { no: 0, name: '', slug: '' };
  const [here, elsewhere] = [place(0), place(1)];
  run(
    state,
    `INSERT INTO offerings (id, company_no, syndicate_no, status, investment_type, offering_type, created_at)
     VALUES (?, ?, ?, 'upcoming', 'SAFE', 'Reg CF', 0)`,
    [id, here.no, syndicateNo],
  );
  const scopes = ['read:companies'];
  return {
    id,
    name: here.name,
    slug: here.slug,
    told: {
      company: createEndpointFor(world, { companyNo: here.no, scopes }),
      elsewhere: createEndpointFor(world, { companyNo: elsewhere.no, scopes }),
      syndicate: createEndpointFor(world, { syndicateNo, scopes }),
      unscoped: createEndpointFor(world, { companyNo: here.no, scopes: ['read:investments'] }),
    },
  };
}

const move = (id: string, status: string) => world.control('PATCH', `/offerings/${id}`, { status });

test('EVT-01 EVT-07 opening, closing and ending a round sends events only to installations where it runs', async () => {
  const round = prepared(foundSyndicate(world).no, 'ofr_lifecycle1');
  for (const status of ['open', 'closing', 'closed']) expect((await move(round.id, status)).status).toBe(200);
  for (const endpoint of [round.told.company, round.told.syndicate]) {
    expect(endpoint.delivered()).toEqual(['offering.opened', 'offering.closing', 'offering.closed']);
    expect(endpoint.bodies().map((body) => (body as { data: unknown }).data)).toEqual(
      ['open', 'closing', 'closed'].map((status) => ({
        offering: round.id,
        status,
        company: { name: round.name, url: round.slug },
      })),
    );
  }
  expect([round.told.elsewhere.delivered(), round.told.unscoped.delivered()]).toEqual([[], []]);
  const read = await world.get(`/offerings/${round.id}`, { token: world.ready.users[0]?.token ?? '' });
  expect([read.status, read.body.error?.type ?? read.body.data.attributes.status]).toEqual([200, 'closed']);
});

test('EVT-01 the recipients of an offering event follow from an installation’s target, realm, scope and end', async () => {
  const { state } = world.services;
  const syndicate = foundSyndicate(world);
  const round = prepared(syndicate.no, 'ofr_audience');
  const numberOf = (sql: string, id = ''): number =>
    one<{ no: number }>(state, sql, id === '' ? [] : [id])?.no ?? 0;
  const companyNo = numberOf('SELECT no FROM companies WHERE id = ?', company(world).id);
  const memberSql = 'SELECT user_no AS no FROM company_members WHERE company_no = ? LIMIT 1';
  const helper = one<{ no: number }>(state, memberSql, [companyNo])?.no ?? 0;
  const manager =
    one<{ no: number }>(
      state,
      'SELECT user_no AS no FROM syndicate_managers WHERE syndicate_no = ? LIMIT 1',
      [syndicate.no],
    )?.no ?? 0;
  const stranger = numberOf(
    `SELECT u.no FROM users u WHERE NOT EXISTS (SELECT 1 FROM company_members m WHERE m.user_no = u.no)
     AND NOT EXISTS (SELECT 1 FROM syndicate_managers g WHERE g.user_no = u.no) LIMIT 1`,
  );
  const scopes = ['read:companies'];
  const told = (wish: EndpointWish, change = '') => {
    const endpoint = createEndpointFor(world, wish);
    if (change !== '')
      run(state, `UPDATE installations SET ${change} WHERE no = ?`, [endpoint.installationNo]);
    return endpoint;
  };
  const audience = {
    'the company': told({ companyNo, scopes }),
    'the syndicate': told({ syndicateNo: syndicate.no, scopes }),
    'a person of the company': told({ userNo: helper, scopes }),
    'a person of the syndicate': told({ userNo: manager, scopes }),
    'a person of neither': told({ userNo: stranger, scopes }),
    'the company, without the scope': told({ companyNo, scopes: ['read:syndicates', 'read:investments'] }),
    'the company, revoked': told({ companyNo, scopes }, 'revoked_at = 1'),
    'the company, live': told({ companyNo, scopes }, "realm = 'live'"),
  };
  expect((await move(round.id, 'open')).status).toBe(200);
  const heard = Object.entries(audience).filter(([, endpoint]) => endpoint.delivered().length > 0);
  expect(heard.map(([name]) => name)).toEqual([
    'the company',
    'the syndicate',
    'a person of the company',
    'a person of the syndicate',
  ]);
  for (const [, endpoint] of heard) expect(endpoint.delivered()).toEqual(['offering.opened']);
});

test('a finished round stays finished, and a refused change sends no event', async () => {
  const round = prepared(foundSyndicate(world).no, 'ofr_lifecycle2');
  expect((await move(round.id, 'canceled')).status).toBe(200);
  for (const status of ['open', 'closing', 'closed', 'canceled']) {
    const answer = await move(round.id, status);
    expect([answer.status, answer.body.error.type]).toEqual([409, 'conflict']);
  }
  expect(round.told.company.delivered()).toEqual(['offering.canceled']);
  expect((await move('ofr_nothing', 'open')).status).toBe(404);
  expect((await move(round.id, 'paused')).status).toBe(400);
});

test('EVT-01 deleting a draft cancels its prepared rounds and still notifies its installations', () => {
  const syndicate = foundSyndicate(world);
  const round = prepared(syndicate.no, 'ofr_lifecycle3');
  deleteDraft(world.services, syndicate.no, null, world.services.clock.now());
  expect(round.told.company.delivered()).toEqual(['offering.canceled']);
  expect(round.told.syndicate.delivered()).toContain('offering.canceled');
});
