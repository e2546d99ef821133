import type { Random } from '../../../runtime/random.js';
import { between, chance, pick } from './picks.js';

/** Visibly invented people: reserved email domains, fictitious streets. Names use several scripts and accents. */
const given = [
  'Mara',
  'José',
  'Zoë',
  'Søren',
  'Łukasz',
  'Aïcha',
  'Nguyễn',
  'Ólafur',
  'Priya',
  'Chinedu',
  'Hana',
  'Tomáš',
  'Ines',
  'Yūki',
  '美咲',
  '伟',
  'Дарья',
  'Γιώργος',
  'محمد',
  'शिव',
  'Siobhán',
  "D'Arcy",
  'Anne-Marie',
  'Björn',
  'Ewa',
  'Noah',
  'Olivia',
  'Liam',
  'Grace',
  'Ruth',
];
const family = [
  'Lindqvist',
  'Fernández',
  'Müller',
  'Ó Briain',
  'Żółty',
  'Nakamura',
  '王',
  'Иванова',
  'Papadópoulos',
  'الخطيب',
  'Okafor',
  'Đặng',
  'Kowalski',
  "O'Neil",
  'van der Berg',
  'Smith',
  'Garcia',
  'Šimek',
  'Das',
  'Þórsdóttir',
  'Nuñez',
  'Haddad',
  'Cohen',
  'Jones',
  'Example',
];
const cities = [
  ['Portland', 'ME', '04101', 'United States'],
  ['Springfield', 'IL', '62701', 'United States'],
  ['Reykjavík', null, '101', 'Iceland'],
  ['Łódź', null, '90-001', 'Poland'],
  ['São Paulo', 'SP', '01000-000', 'Brazil'],
  ['Köln', null, '50667', 'Germany'],
  ['京都市', null, '600-8001', 'Japan'],
] as const;
const streets = ['Harbour Row', 'Nowhere Lane', 'Sample Street', 'Fictional Avenue', 'Test Close'];
const bios = [
  'Angel investor and beekeeper.',
  'Früher Ingenieurin, heute Gärtnerin.',
  'Invests in what she uses 🌱',
];

export interface Person {
  readonly name: string;
  readonly legalName: string;
  readonly username: string;
  readonly email: string;
  readonly address: string | null;
  readonly bio: string | null;
}

/** Invents a person. `number` makes the email unique; other fields may repeat. */
export function inventPerson(random: Random, number: number): Person {
  const first = pick(random, given);
  const last = pick(random, family);
  const [city, state, postalCode, country] = pick(random, cities);
  const line = `${between(random, 1, 400)} ${pick(random, streets)}`;
  return {
    name: `${first} ${last}`,
    legalName: chance(random, 0.1) ? `${first} Q. ${last}` : `${first} ${last}`,
    username: `investor${number}`,
    email: `investor${number}@people.example`,
    address: chance(random, 0.9)
      ? JSON.stringify({ line, city, state, postal_code: postalCode, country })
      : null,
    bio: chance(random, 0.2) ? pick(random, bios) : null,
  };
}
