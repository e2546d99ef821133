import { describe, expect, test } from 'vitest';
import { getUpdate, listUpdates } from '../../src/platform/contract/company-tabs.js';
import { one, run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf, follow, invest, personToken } from './catalog.js';
import { companyPages, day, type Item, lanterns } from './company-pages.js';
import { userNo } from './credentials.js';
import { worldStart } from './running-platform.js';

const { world, key, explorer, plain, read } = await companyPages();

describe('updates of a company', () => {
  const titles = async (token = key, slug = lanterns): Promise<string[]> =>
    (await read(slug, '/updates', token)).body.data.map((post: Item) => post.attributes.title);

  test('COMP-36 COMP-38 the list of updates says whose they are and how many', async () => {
    const { body } = conforms(listUpdates, await read(lanterns, '/updates'));
    expect(body.meta).toEqual({
      company: companyOf(world, lanterns).id,
      has_more: false,
      page_count: 2,
      next_cursor: null,
    });
  });

  test('COMP-37 COMP-39 the list of updates has pinned posts first, then the newest, without the full text', async () => {
    const { body } = conforms(listUpdates, await read(lanterns, '/updates'));
    expect(await titles()).toEqual(['In the news', 'A good quarter']);
    expect(body.data[0].attributes).toMatchObject({
      pinned: true,
      visibility: null,
      kind: 'spotlight',
      author: { name: 'Maker 1' },
    });
    for (const post of body.data) expect(post.attributes).not.toHaveProperty('content');
  });

  test('COMP-40 COMP-31 the list of updates shows each post only to its audience', async () => {
    const team = personToken(world, 'maker1@people.example', 'read:explore');
    const backer = personToken(world, 'backer9@people.example', 'read:explore');
    const everyone = ['In the news', 'A good quarter'];
    expect(await titles(plain)).toEqual(everyone);
    expect(await titles(explorer)).toEqual(['In the news', 'For those who follow us', 'A good quarter']);
    expect(await titles(backer)).toEqual(everyone);
    const bought = invest(world, { email: 'backer9@people.example', slug: lanterns, index: 1 });
    expect(await titles(backer)).toEqual([
      'In the news',
      'Report to investors',
      'For those who follow us',
      'A good quarter',
    ]);
    expect(await titles(team)).toEqual([
      'In the news',
      'Draft minutes',
      'Among founders',
      'Report to investors',
      'For those who follow us',
      'A good quarter',
    ]);
    const { no } = companyOf(world, lanterns);
    run(world.services.state, `INSERT INTO company_members VALUES (?, ?, 'editor', 1)`, [
      no,
      userNo(world, 'backer8@people.example'),
    ]);
    const editor = await titles(personToken(world, 'backer8@people.example', 'read:explore'));
    run(world.services.state, `DELETE FROM company_members WHERE company_no = ? AND tier = 'editor'`, [no]);
    expect(editor).toContain('Draft minutes');
    expect(editor).not.toContain('Among founders');
    expect(await titles(personToken(world, 'backer9@people.example', 'read:profile'))).toEqual(everyone);
    await world.control('DELETE', `/investments/${bought}`);
  });

  test('COMP-39 the list of updates omits drafts, scheduled posts and bounties', async () => {
    const { no } = companyOf(world, 'quiet-orchard');
    const before = await titles(key, 'quiet-orchard');
    for (const [kind, at] of [
      ['update', null],
      ['update', worldStart + day],
      ['bounty', 1],
    ] as const) {
      run(
        world.services.state,
        `INSERT INTO company_updates (id, company_no, kind, title, content, published_at, visibility) VALUES (?, ?, ?, 'Not yet', 'x', ?, 'public')`,
        [`upd${kind}${at}`, no, kind, at],
      );
    }
    expect(await titles(key, 'quiet-orchard')).toEqual(before);
  });

  test('COMP-41 COMP-42 a single update has its full text if the viewer may read it', async () => {
    const long = `A first line.\n\n${'Word '.repeat(200)}`;
    const { no } = companyOf(world, lanterns);
    run(
      world.services.state,
      `UPDATE company_updates SET content = ? WHERE company_no = ? AND visibility = 'public'`,
      [long, no],
    );
    const [, post] = (await read(lanterns, '/updates')).body.data;
    expect([...post.attributes.excerpt].length).toBeLessThanOrEqual(280);
    expect(post.attributes.excerpt).toMatch(/^A first line\. Word .*…$/);
    const { body } = conforms(getUpdate, await read(lanterns, `/updates/${post.id}`));
    expect(body.data).toEqual({ ...post, attributes: { ...post.attributes, content: long } });
    const hidden = one<{ id: string }>(
      world.services.state,
      `SELECT id FROM company_updates WHERE company_no = ? AND visibility = 'investors'`,
      [no],
    );
    for (const id of [hidden?.id, 'never'])
      expect(errorOf(await read(lanterns, `/updates/${id}`))).toEqual([404, 'not_found']);
    expect((await read('quiet-orchard', `/updates/${post.id}`)).status).toBe(404);
  });

  test('COMP-36 PAGE-09 PAGE-02 the list of updates has twenty posts a page, fifty at most, each post once', async () => {
    const { no, id } = companyOf(world, 'paper-kites');
    for (let index = 0; index < 60; index += 1) {
      run(
        world.services.state,
        `INSERT INTO company_updates (id, company_no, kind, content, published_at, visibility) VALUES (?, ?, 'update', 'x', ?, 'public')`,
        [`page${index}`, no, index % 7],
      );
    }
    const sizes = [];
    for (const size of ['', '?per_page=50', '?per_page=99', '?per_page=0'])
      sizes.push((await read('paper-kites', `/updates${size}`)).body.data.length);
    expect(sizes).toEqual([20, 50, 50, 20]);
    const ids = (await follow(world, `/companies/${id}/updates?per_page=7`, key)).map((post) => post.id);
    expect(ids.length).toBe(60);
    expect(new Set(ids).size).toBe(60);
    const foreign = (await read('paper-kites', '/updates')).body.meta.next_cursor;
    expect(errorOf(await read(lanterns, `/updates?cursor=${foreign}`))).toEqual([400, 'invalid_parameter']);
  });
});
