import { beforeAll, describe, expect, test } from 'vitest';
import { postComment } from '../../src/platform/companies/comments.js';
import { listQuestions } from '../../src/platform/contract/company-tabs.js';
import { all, one, run } from '../../src/platform/state/statements.js';
import { companyOf, conforms, errorOf, follow, ivan } from './catalog.js';
import { companyPages, day, type Item, lanterns } from './company-pages.js';
import { userNo } from './credentials.js';
import { worldStart } from './running-platform.js';

const { world, key, read } = await companyPages();

describe('questions of a company', () => {
  const ask = async (query = '', token = key): Promise<Item> =>
    conforms(listQuestions, await read(lanterns, `/questions${query}`, token)).body;
  const texts = async (query: string): Promise<string[]> =>
    (await ask(query)).data.map((item: Item) => item.attributes.question);
  const [cost, profit, canada, first] = [
    'What is your customer acquisition cost?',
    'When will you be profitable?',
    'Do you ship to Canada?',
    'How was the money of the first round spent?',
  ];

  beforeAll(() => {
    const { no } = companyOf(world, lanterns);
    for (const [body, likes] of [
      [cost, 9],
      [profit, 3],
      [canada, 5],
      [first, 20],
    ] as const) {
      run(world.services.state, 'UPDATE comments SET likes_count = ? WHERE company_no = ? AND body = ?', [
        likes,
        no,
        body,
      ]);
    }
  });

  test('COMP-43 COMP-46 the list of questions has the answers, with each author and role', async () => {
    const { data, meta } = await ask();
    expect(meta).toEqual({
      company: companyOf(world, lanterns).id,
      sort: 'relevance',
      q: null,
      unanswered_by_team: false,
      past_raises: false,
      questions_since: new Date(worldStart - 20 * day).toISOString().slice(0, 10),
      total: 3,
      has_more: false,
      page_count: 3,
      next_cursor: null,
    });
    const item = data.find((one: Item) => one.attributes.question === cost);
    expect(item).toMatchObject({
      id: expect.stringMatching(/^cmt_/),
      type: 'company_question',
      attributes: {
        asked_by: { id: expect.stringMatching(/^usr_/), name: 'Backer 1', role: 'investor', team: false },
        answered_by_team: true,
        match: null,
        answers: [
          {
            id: expect.stringMatching(/^cmt_/),
            answer: 'About forty dollars, and falling.',
            answered_by: { name: 'Maker 1', role: 'founder', team: true },
          },
        ],
      },
    });
  });

  test('COMP-44 the list of questions omits past raises by default', async () => {
    expect(await texts('?sort=recent')).toEqual([canada, cost, profit]);
    const all = await ask('?sort=recent&past_raises=true');
    expect(all.data.map((item: Item) => item.attributes.question)).toEqual([canada, cost, profit, first]);
    expect(all.meta).toMatchObject({ past_raises: true, questions_since: null, total: 4 });
    expect((await read(lanterns, '/questions?past_raises=yes')).status).toBe(400);
    const { state } = world.services;
    const { no } = companyOf(world, lanterns);
    const asked = (at: number) =>
      run(state, 'UPDATE comments SET created_at = ? WHERE company_no = ? AND body = ?', [at, no, first]);
    const before = one<{ created_at: number }>(
      state,
      'SELECT created_at FROM comments WHERE company_no = ? AND body = ?',
      [no, first],
    );
    asked(worldStart - 20 * day);
    const atOpening = await texts('?sort=recent');
    asked(worldStart - 20 * day - 1);
    const earlier = await texts('?sort=recent');
    asked(before?.created_at ?? 0);
    expect([atOpening.includes(first), earlier.includes(first)]).toEqual([true, false]);
  });

  test('COMP-03 COMP-44 a raise of two legs has questions since the first of them opened, not since reservations did', async () => {
    const slug = 'sandbox-company-1';
    const { no } = companyOf(world, slug);
    const { state } = world.services;
    const rounds = all<{ no: number; status: string; testing_the_waters: number; started_at: number }>(
      state,
      'SELECT no, status, testing_the_waters, started_at FROM offerings WHERE company_no = ?',
      [no],
    );
    const open = rounds.filter(({ status }) => status === 'open');
    const reservations = open.filter(({ testing_the_waters: taken }) => taken === 1);
    const legs = open.filter(({ testing_the_waters: taken }) => taken === 0);
    expect([legs.length, reservations.length]).toEqual([2, 1]);
    const opened = (round: { no: number } | undefined, at: number) =>
      run(state, 'UPDATE offerings SET started_at = ? WHERE no = ?', [at, round?.no ?? 0]);
    const asked = [15, 25, 35].map((days) => worldStart - days * day);
    const questions = asked.map(
      (at) =>
        postComment(
          world.services,
          ...([
            {
              companyNo: no,
              questionNo: null,
              authorNo: userNo(world, ivan),
              body: `At ${at}?`,
              disclosureKey: null,
            },
            at,
          ] as const),
        ).id,
    );
    opened(reservations[0], worldStart - 60 * day);
    for (const [first, second] of [
      [30, 10],
      [10, 30],
    ] as const) {
      opened(legs[0], worldStart - first * day);
      opened(legs[1], worldStart - second * day);
      const { data, meta } = (await read(slug, '/questions?sort=recent')).body;
      expect(meta.questions_since).toBe(new Date(worldStart - 30 * day).toISOString().slice(0, 10));
      const ids = data.map(({ id }: Item) => id);
      expect(questions.map((id) => ids.includes(id))).toEqual([true, true, false]);
    }
    for (const round of open) opened(round, round.started_at);
    run(state, `DELETE FROM comments WHERE company_no = ? AND body LIKE 'At %'`, [no]);
  });

  test.each([
    ['relevance', [profit, cost, canada]],
    ['recent', [canada, cost, profit]],
    ['upvoted', [cost, canada, profit]],
    ['unanswered', [canada, cost, profit]],
  ])('COMP-45 the list of questions sorts with sort=%s', async (sort, expected) => {
    expect(await texts(`?sort=${sort}`)).toEqual(expected);
    expect((await ask(`?sort=${sort}`)).meta.sort).toBe(sort);
  });

  test('COMP-45 unanswered questions come before answered ones of any age', async () => {
    const { state } = world.services;
    const move = 'UPDATE comments SET created_at = created_at + ? WHERE body = ?';
    run(state, move, [-6 * day, canada]);
    const [recent, unanswered] = [await texts('?sort=recent'), await texts('?sort=unanswered')];
    run(state, move, [6 * day, canada]);
    expect(recent.indexOf(canada)).toBeGreaterThan(0);
    expect(unanswered).toEqual([canada, ...recent.filter((text) => text !== canada)]);
  });

  test('COMP-45 questions sort by relevance by default and by likes with upvoted; another value is refused', async () => {
    expect(await texts('')).toEqual(await texts('?sort=relevance'));
    expect(await texts('?sort=upvoted&past_raises=true')).toEqual([first, cost, canada, profit]);
    const answer = await read(lanterns, '/questions?sort=best');
    expect(errorOf(answer)).toEqual([400, 'invalid_parameter']);
    for (const word of ['relevance', 'recent', 'upvoted', 'unanswered'])
      expect(answer.body.error.message).toContain(word);
  });

  const quoted = (text: string) => encodeURIComponent(text);
  test.each([
    ['customer acquisition', [cost]],
    ['"customer acquisition"', [cost]],
    ['"acquisition customer"', []],
    ['custo', [cost]],
    ['do you shi', []],
    ['forty', [cost]],
    ['you', [cost, canada, profit]],
    ['you -canada', [cost, profit]],
    ['you -"', [cost, canada, profit]],
    ['CÁNADA', [canada]],
    ['nowhere', []],
    ['-canada', [cost, profit]],
  ])('COMP-46 the list of questions searches with q=%s', async (q, expected) => {
    const body = await ask(`?q=${quoted(q)}&sort=recent`);
    expect(body.data.map((item: Item) => item.attributes.question)).toEqual(expected);
    expect(body.meta).toMatchObject({ sort: 'search', q, total: expected.length });
    for (const item of body.data) expect(item.attributes.match).toBe(q === 'forty' ? 'answer' : 'question');
  });

  test('COMP-46 an empty question search is ignored, and a query over 200 bytes is refused', async () => {
    expect((await ask('?q=%20')).meta).toMatchObject({ sort: 'relevance', q: null, total: 3 });
    expect(errorOf(await read(lanterns, `/questions?q=${quoted('é'.repeat(101))}`))).toEqual([
      400,
      'invalid_parameter',
    ]);
    expect((await read(lanterns, `/questions?q=${quoted('é'.repeat(100))}`)).status).toBe(200);
  });

  test('COMP-46 unanswered_by_team returns questions without a visible answer of the team', async () => {
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
    const { services } = world;
    const company = companyOf(world, lanterns).no;
    const question = one<{ no: number }>(
      services.state,
      'SELECT no FROM comments WHERE company_no = ? AND body = ?',
      [company, canada],
    );
    const wish = {
      companyNo: company,
      questionNo: question?.no ?? 0,
      body: 'I think so.',
      disclosureKey: null,
    };
    const answer = postComment(services, { ...wish, authorNo: userNo(world, ivan) }, worldStart);
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
    const official = postComment(
      services,
      { ...wish, authorNo: userNo(world, 'maker1@people.example') },
      worldStart,
    );
    expect(await texts('?unanswered_by_team=true')).toEqual([]);
    run(services.state, 'UPDATE comments SET deleted_at = ? WHERE no IN (?, ?)', [
      worldStart,
      answer.no,
      official.no,
    ]);
    expect(await texts('?unanswered_by_team=true')).toEqual([canada]);
  });

  test('COMP-46 a question of a closed account shows no name', async () => {
    const asker = one<{ id: string }>(
      world.services.state,
      `SELECT id FROM users WHERE email = 'backer3@people.example'`,
    );
    await world.control('POST', `/users/${asker?.id}/deactivate`);
    const item = (await ask()).data.find((one: Item) => one.attributes.question === canada);
    expect(item.attributes.asked_by).toEqual({ id: null, name: null, role: null, team: false });
  });

  test('COMP-46 PAGE-09 the list of questions has twenty a page, fifty at most', async () => {
    const { no, id } = companyOf(world, 'paper-kites');
    for (let index = 0; index < 60; index += 1) {
      postComment(
        world.services,
        {
          companyNo: no,
          questionNo: null,
          authorNo: userNo(world, ivan),
          body: `Question ${index}?`,
          disclosureKey: null,
        },
        worldStart - (index % 9),
      );
    }
    const size = async (query: string) => (await read('paper-kites', `/questions${query}`)).body.data.length;
    expect([await size(''), await size('?per_page=60'), await size('?per_page=5')]).toEqual([20, 50, 5]);
    for (const sort of ['relevance', 'recent', 'upvoted', 'unanswered']) {
      const items = await follow(world, `/companies/${id}/questions?sort=${sort}&per_page=17`, key);
      expect(new Set(items.map((item) => item.id)).size).toBe(60);
    }
  });
});
