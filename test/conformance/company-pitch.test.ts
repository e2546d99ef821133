import { describe, expect, test } from 'vitest';
import { getPitch } from '../../src/platform/contract/company-pitch.js';
import { one, run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf, roundOf } from './catalog.js';
import { companyPages, type Item, lanterns } from './company-pages.js';

const { world, plain, read, attributes } = await companyPages();

describe('the pitch of a company', () => {
  test('COMP-27 COMP-28 a pitch belongs to a round and says who wrote it', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    expect(body.data.type).toBe('company_pitch');
    const { story: _, perks: __, ...head } = body.data.attributes;
    expect(head).toEqual({
      offering_id: roundOf(world, lanterns, 1).id,
      title: expect.stringContaining('Harbour Lanterns'),
      url: expect.stringMatching(/^https:/),
      authored_by: expect.stringMatching(/^(company|wefunder)$/),
      disclaimer: head.authored_by === 'company' ? null : expect.any(String),
    });
  });

  test('COMP-29 COMP-30 COMP-31 the story of a pitch has counted blocks of every kind', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    const { story } = body.data.attributes;
    expect(story).toMatchObject({ image_count: 1, video_count: 1, inline_images_omitted: 0 });
    const texts = story.blocks.flatMap((block: Item) => block.items ?? block.text ?? []);
    expect(story.character_count).toBe(texts.join('').length);
    expect(new Set(story.blocks.map((block: Item) => block.type))).toEqual(
      new Set(['heading', 'paragraph', 'list', 'image', 'video', 'footnote']),
    );
    expect(
      story.blocks.filter((block: Item) => block.type === 'list').map((block: Item) => block.start),
    ).toEqual([3, undefined]);
    for (const block of story.blocks as Item[]) {
      if (block.type === 'heading') expect([1, 2, 3, 4, 5, 6]).toContain(block.level);
      if (['image', 'video'].includes(block.type)) expect(block.url).toMatch(/^https:/);
      if (block.type === 'video') expect(block.provider).toEqual(expect.any(String));
    }
  });

  test('COMP-29 the story of a pitch counts images, videos and the images it leaves out apart', async () => {
    const { state } = world.services;
    const before = one<{ no: number; blocks: string }>(
      state,
      'SELECT p.company_no AS no, p.blocks FROM pitches p JOIN companies c ON c.no = p.company_no WHERE c.slug = ?',
      [lanterns],
    );
    if (before === undefined) throw new Error('the company has no pitch');
    const blocks = (JSON.parse(before.blocks) as Item[]).flatMap((block) =>
      block.type === 'image' ? [block, block] : [block],
    );
    const set = 'UPDATE pitches SET blocks = ?, inline_images_omitted = ? WHERE company_no = ?';
    run(state, set, [JSON.stringify(blocks), 3, before.no]);
    const { body } = await read(lanterns, '/pitch');
    run(state, set, [before.blocks, 0, before.no]);
    expect(body.data.attributes.story).toMatchObject({
      image_count: 2,
      video_count: 1,
      inline_images_omitted: 3,
    });
  });

  test('COMP-32 the perks of a pitch are those of its round', async () => {
    const { body } = conforms(getPitch, await read(lanterns, '/pitch'));
    expect(body.data.attributes.perks).toEqual({
      offering_id: roundOf(world, lanterns, 1).id,
      currency: 'USD',
      described_in_pitch: false,
      tiers: [
        { qualifying_amount: '250.00', description: expect.any(String) },
        { qualifying_amount: '5000.00', description: expect.any(String) },
      ],
    });
  });

  test('COMP-28 a pitch written by the platform has a disclaimer, one written by the company has none', async () => {
    const authors = await Promise.all(
      ['harbour-lanterns', 'quiet-orchard'].map((slug) => attributes(slug, '/pitch')),
    );
    expect(authors.map((pitch) => [pitch.authored_by, pitch.disclaimer === null]).sort()).toEqual([
      ['company', true],
      ['wefunder', false],
    ]);
    run(world.services.state, `UPDATE pitches SET disclaimer = 'Ours.' WHERE authored_by = 'company'`, []);
    const own = await Promise.all(
      ['harbour-lanterns', 'quiet-orchard'].map((slug) => attributes(slug, '/pitch')),
    );
    expect(own).toEqual(authors);
  });

  test('COMP-33 a pitch shows a list that only refers to pictures as a placeholder', async () => {
    const { no } = roundOf(world, lanterns, 1);
    const described = async (tiers: object[], blocks?: object[]) => {
      run(world.services.state, 'UPDATE perks SET tiers = ? WHERE offering_no = ?', [
        JSON.stringify(tiers),
        no,
      ]);
      if (blocks !== undefined)
        run(world.services.state, 'UPDATE pitches SET blocks = ? WHERE company_no = ?', [
          JSON.stringify(blocks),
          companyOf(world, lanterns).no,
        ]);
      return (await attributes(lanterns, '/pitch?sections=perks')).perks.described_in_pitch;
    };
    const pointer = { qualifying_cents: null, description: 'See the images above for our perks' };
    expect(await described([pointer])).toBe(true);
    expect(await described([pointer, { qualifying_cents: 100, description: 'A mug' }])).toBe(false);
    expect(await described([pointer], [{ type: 'paragraph', text: 'No pictures.' }])).toBe(false);
  });

  test('COMP-34 the pitch of a page without a visible round has a story and no perks', async () => {
    const shown = await attributes('first-sparks', '/pitch');
    expect([shown.offering_id, shown.perks]).toEqual([null, null]);
    expect((await attributes('first-sparks', '/pitch', plain)).perks).not.toBeNull();
  });

  test('COMP-35 COMP-26 the sections parameter narrows the pitch', async () => {
    const always = ['offering_id', 'title', 'url', 'authored_by', 'disclaimer'];
    for (const sections of ['story', 'perks', 'story,perks']) {
      const { body } = conforms(getPitch, await read(lanterns, `/pitch?sections=${sections}`));
      expect(Object.keys(body.data.attributes)).toEqual([...always, ...sections.split(',')]);
    }
    const answer = await read(lanterns, '/pitch?sections=team');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    expect(answer.body.error.message).toContain('story, perks');
    const blocks = Array.from({ length: 700 }, () => ({ type: 'paragraph', text: 'x'.repeat(100) }));
    run(world.services.state, 'UPDATE pitches SET blocks = ? WHERE company_no = ?', [
      JSON.stringify(blocks),
      companyOf(world, lanterns).no,
    ]);
    expect((await attributes(lanterns, '/pitch')).story).toMatchObject({ blocks, character_count: 70_000 });
  });
});
