import { describe, expect, test } from 'vitest';
import { explore, getOffering } from '../../src/platform/contract/offerings.js';
import { run } from '../../src/platform/state/statements.js';
import {
  applicationToken,
  companyOf,
  conforms,
  errorOf,
  ida,
  invest,
  ivan,
  personToken,
  roundOf,
  roundsOf,
} from './catalog.js';
import { makeClient } from './credentials.js';
import { type Item, names, offeringPages } from './offering-pages.js';

const { world, key, explorer, read, listed } = await offeringPages();

describe('visibility of offerings', () => {
  test('CAT-01 CAT-38 OAUTH-25 keys, applications, installations and people read the public catalog', async () => {
    const client = makeClient(world);
    const tokens = [
      key,
      applicationToken(world, client),
      personToken(world, ivan, 'read:profile'),
      world.ready.companies[0]?.token ?? '',
    ];
    const { id } = roundOf(world, 'harbour-lanterns', 1);
    for (const token of tokens) {
      expect((await read('/explore', token)).status).toBe(200);
      conforms(getOffering, await read(`/offerings/${id}`, token));
      expect((await read(`/companies/${companyOf(world, 'harbour-lanterns').id}`, token)).status).toBe(200);
      expect((await read('/companies/search?q=harbour', token)).status).toBe(200);
    }
  });

  test('CAT-14 CAT-38 the catalog refuses a request without a credential', async () => {
    expect(errorOf(await world.get('/explore'))).toEqual([401, 'unauthorized']);
    expect(errorOf(await world.get(`/offerings/${roundOf(world, 'quiet-orchard').id}`))).toEqual([
      401,
      'unauthorized',
    ]);
  });

  test('CAT-34 CAT-35 the public view omits private, unapproved, hidden, restricted and untried companies', async () => {
    const shown = await listed();
    for (const name of [
      'Private Pastures',
      'Unproven Umbrellas',
      'Hidden Hollow',
      'Lumen Works',
      'Vaulted Arch',
      'First Sparks',
    ]) {
      expect(shown).not.toContain(name);
    }
    expect(shown).toEqual(
      expect.arrayContaining(['Harbour Lanterns', 'Quiet Orchard', 'Tidal Ledger', 'Paper Kites']),
    );
  });

  test('CAT-35 the catalog lists a company once it reaches the traction threshold', async () => {
    expect(await listed()).not.toContain('First Sparks');
    const bought = invest(world, { email: ivan, slug: 'first-sparks', cents: 80_000 });
    expect(await listed()).toContain('First Sparks');
    await world.control('DELETE', `/investments/${bought}`);
    expect(await listed()).not.toContain('First Sparks');
  });

  test('CAT-36 CAT-12 SCOPE-07 the logged-in view contains the public view and more, with marks', async () => {
    const anyones = conforms(explore, await read('/explore')).body;
    const own = conforms(explore, await read('/explore', explorer)).body;
    expect([anyones.meta.personalized, own.meta.personalized]).toEqual([false, true]);
    const ids = own.data.map((item: Item) => item.id);
    expect(ids).toEqual(expect.arrayContaining(anyones.data.map((item: Item) => item.id)));
    expect(ids.length).toBeGreaterThan(anyones.data.length);
    expect(names(own.data)).toEqual(
      expect.arrayContaining(['Lumen Works', 'Vaulted Arch', 'Private Pastures', 'First Sparks']),
    );
    expect(names(own.data)).not.toContain('Hidden Hollow');
    expect(names(own.data)).not.toContain('Unproven Umbrellas');
    for (const { id, attributes } of own.data) {
      const open = anyones.data.find((item: Item) => item.id === id);
      expect(attributes.publicly_visible).toBe(open !== undefined);
      expect(typeof attributes.invested).toBe('boolean');
      const { publicly_visible: _, invested: __, followed: ___, ...shared } = attributes;
      if (open !== undefined) expect(open.attributes).toMatchObject(shared);
    }
    for (const { attributes } of anyones.data) {
      expect(attributes).not.toHaveProperty('publicly_visible');
      expect(attributes).not.toHaveProperty('invested');
    }
  });

  test('CAT-36 SCOPE-07 restricted companies are visible to viewers who qualify', async () => {
    const plain = await listed('', personToken(world, ivan, 'read:explore'));
    for (const name of ['Lumen Works', 'Vaulted Arch', 'Private Pastures']) expect(plain).not.toContain(name);
    expect(plain).toContain('First Sparks');
  });

  test('CAT-37 read:explore on an installation gives the public view', async () => {
    const { body } = await read('/explore', world.ready.companies[0]?.token);
    expect(body.meta.personalized).toBe(false);
    expect(names(body.data)).toEqual(await listed());
  });

  test('CAT-12 invested is true for a round in which the viewer has an active investment', async () => {
    const { id } = roundOf(world, 'harbour-lanterns', 1);
    const invested = async () => (await read(`/offerings/${id}`, explorer)).body.data.attributes.invested;
    expect(await invested()).toBe(false);
    const bought = invest(world, { email: ida, slug: 'harbour-lanterns', index: 1 });
    expect(await invested()).toBe(true);
    await world.control('PATCH', `/investments/${bought}`, { status: 'canceled' });
    expect(await invested()).toBe(false);
  });

  test('CAT-38 SEC-02 SEC-01 an offering that is not public returns the same error as one that never existed', async () => {
    const unknown = await read('/offerings/ofr_never');
    for (const slug of [
      'private-pastures',
      'unproven-umbrellas',
      'hidden-hollow',
      'lumen-works',
      'vaulted-arch',
      'first-sparks',
    ]) {
      const answer = await read(`/offerings/${roundOf(world, slug).id}`);
      expect(errorOf(answer), slug).toEqual([404, 'not_found']);
      expect({ ...answer.body.error, request_id: '' }).toEqual({ ...unknown.body.error, request_id: '' });
    }
  });

  test('CAT-39 a person reads by id any offering they may see, with their own relation to it', async () => {
    for (const [slug, open] of [
      ['private-pastures', false],
      ['lumen-works', false],
      ['vaulted-arch', false],
      ['harbour-lanterns', true],
    ] as const) {
      const answer = conforms(
        getOffering,
        await read(`/offerings/${roundsOf(world, slug).at(-1)?.id}`, explorer),
      );
      expect(answer.body.data.attributes).toMatchObject({ publicly_visible: open, invested: false });
    }
    const plain = personToken(world, ivan, 'read:explore');
    expect((await read(`/offerings/${roundOf(world, 'private-pastures').id}`, plain)).status).toBe(404);
  });

  test('CAT-08 CAT-39 an upcoming round is visible to its team, a canceled one also to its investors', async () => {
    const { no, id } = roundOf(world, 'first-sparks');
    const { state } = world.services;
    const asTeam = personToken(world, 'maker10@people.example', 'read:explore');
    const asBacker = personToken(world, 'backer1@people.example', 'read:explore');
    const seen = async () =>
      Promise.all(
        [asTeam, asBacker, explorer].map(async (token) => (await read(`/offerings/${id}`, token)).status),
      );
    expect(await seen()).toEqual([200, 200, 200]);
    run(state, `UPDATE offerings SET status = 'upcoming' WHERE no = ?`, [no]);
    expect(await seen()).toEqual([200, 404, 404]);
    run(state, `UPDATE offerings SET status = 'canceled' WHERE no = ?`, [no]);
    expect(await seen()).toEqual([200, 200, 404]);
    run(state, `UPDATE offerings SET status = 'open' WHERE no = ?`, [no]);
  });
});

describe('realms of the catalog', () => {
  test('OAUTH-27 OAUTH-25 a key sees only the companies of its own realm', async () => {
    const { state } = world.services;
    const live = run(
      state,
      `INSERT INTO companies (id, realm, name, slug, created_at) VALUES ('co_live', 'live', 'Live One', 'live-one', 0)`,
    ).no;
    run(state, 'INSERT INTO company_profiles (company_no, approved_at) VALUES (?, 1)', [live]);
    run(state, `INSERT INTO offerings (id, company_no, created_at) VALUES ('ofr_live', ?, 0)`, [live]);
    invest(world, { email: ivan, slug: 'live-one' });
    const liveKey = world.ready.apps[0]?.live.clientId ?? '';
    const names = world.ready.live.companies.map(({ name }) => name);
    expect((await listed('', liveKey)).sort()).toEqual([...names, 'Live One'].sort());
    expect(await listed()).not.toContain('Live One');
    for (const path of ['/offerings/ofr_live', '/companies/co_live', '/companies/co_live/pitch']) {
      expect((await read(path, liveKey)).status).toBe(200);
      expect(errorOf(await read(path))).toEqual([404, 'not_found']);
    }
    expect((await read('/companies/search?q=live')).body.data).toEqual([]);
  });
});
