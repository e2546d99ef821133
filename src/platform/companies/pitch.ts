import { dollarsOf } from '../catalog/money.js';
import type { Round } from '../catalog/rounds.js';
import { siteUrl } from '../catalog/site.js';
import type { getPitch, StoryBlock } from '../contract/company-pitch.js';
import { pitchSections } from '../contract/vocabulary.js';
import { type Exchange, ok, type Reply } from '../http/exchange.js';
import { wordsOf } from '../http/list-parameter.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { visitPage } from './find.js';
import { liveLegs, visibleRounds } from './record.js';

interface Row {
  readonly title: string;
  readonly authored_by: 'company' | 'wefunder';
  readonly disclaimer: string | null;
  readonly blocks: string;
  readonly inline_images_omitted: number;
}

interface Tier {
  readonly qualifying_cents: number | null;
  readonly description: string;
}

export function answerPitch(exchange: Exchange<typeof getPitch>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const asked = wordsOf('sections', query.sections, pitchSections) ?? pitchSections;
  const { company, viewer } = visitPage(exchange);
  const rounds = visibleRounds(services, company.company_no, viewer, now);
  const round = liveLegs(rounds)[0] ?? rounds[0];
  const row = one<Row>(services.state, 'SELECT * FROM pitches WHERE company_no = ?', [company.company_no]);
  const blocks = row === undefined ? [] : (JSON.parse(row.blocks) as StoryBlock[]);
  return ok({
    data: {
      id: company.company_id,
      type: 'company_pitch',
      attributes: {
        offering_id: round?.id ?? null,
        title: row?.title ?? company.company_name,
        url: siteUrl(services, company.slug),
        authored_by: row?.authored_by ?? 'company',
        disclaimer: row?.authored_by === 'wefunder' ? row.disclaimer : null,
        ...(asked.includes('story') ? { story: storyOf(blocks, row?.inline_images_omitted ?? 0) } : {}),
        ...(asked.includes('perks') ? { perks: perksOf(services.state, round, blocks) } : {}),
      },
    },
  });
}

const countOf = (blocks: readonly StoryBlock[], type: StoryBlock['type']): number =>
  blocks.filter((block) => block.type === type).length;

const storyOf = (blocks: readonly StoryBlock[], omitted: number) => ({
  blocks,
  image_count: countOf(blocks, 'image'),
  video_count: countOf(blocks, 'video'),
  inline_images_omitted: omitted,
  character_count: blocks.reduce((sum, block) => sum + [...textOf(block)].length, 0),
});

function textOf(block: StoryBlock): string {
  if (block.type === 'list') return block.items.join('');
  return 'text' in block ? block.text : '';
}

function perksOf(state: State, round: Round | undefined, blocks: readonly StoryBlock[]): object | null {
  const row =
    round && one<{ tiers: string }>(state, 'SELECT tiers FROM perks WHERE offering_no = ?', [round.no]);
  if (round === undefined || row === undefined) return null;
  const tiers = JSON.parse(row.tiers) as Tier[];
  return {
    offering_id: round.id,
    currency: round.currency.toUpperCase(),
    described_in_pitch: tiers.every(isPlaceholder) && countOf(blocks, 'image') > 0,
    tiers: tiers.map(({ qualifying_cents, description }) => ({
      qualifying_amount: qualifying_cents === null ? null : dollarsOf(qualifying_cents),
      description,
    })),
  };
}

/** Returns whether a tier only refers to another place, as companies write when their perks are shown in images. */
const isPlaceholder = (tier: Tier): boolean =>
  /\b(see|refer to|described in|details in)\b.*\b(pitch|story|image|images|above|below|page)\b/i.test(
    tier.description,
  );
