/** Notations of addresses outside the public internet. Each is put into a URL. */
const v4Addresses = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.254',
  '127.0.0.1',
  '127.1.2.3',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
] as const;

const parts = (address: string): number[] => address.split('.').map(Number);
const integer = (address: string): number => parts(address).reduce((sum, part) => sum * 256 + part, 0);
const hex = (value: number, width = 0): string => value.toString(16).padStart(width, '0');
const fullWidth = (text: string): string =>
  [...text].map((letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)).join('');

/** Returns every notation of an IPv4 address that a URL parser accepts. */
function spellingsOf(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = parts(address);
  const groups = `${hex(a, 2)}${hex(b, 2)}:${hex(c, 2)}${hex(d, 2)}`;
  return [
    address,
    String(integer(address)),
    `0x${hex(integer(address))}`,
    `0${integer(address).toString(8)}`,
    parts(address)
      .map((part) => `0x${hex(part)}`)
      .join('.'),
    parts(address)
      .map((part) => `0${part.toString(8)}`)
      .join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 65536 + c * 256 + d}`,
    `${address}.`,
    fullWidth(address),
    address.replaceAll('.', '。'),
    address.replace('.', '%2e'),
    `[::ffff:${address}]`,
    `[::ffff:${groups}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${groups}]`,
    `[2002:${groups}::1]`,
  ];
}

const v6Hosts = [
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[100::1]',
  '[2001::1]',
  '[2001:10::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fdff:ffff::1]',
  '[fe80::1]',
  '[fe80::1%25eth0]',
  '[fec0::1]',
  '[ff02::1]',
  '[ff0e::1]',
];

const names = [
  'localhost',
  'LOCALHOST',
  'LocalHost.',
  'localhost.localdomain',
  'foo.localhost',
  'ｌｏｃａｌｈｏｓｔ',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'metadata',
  'metadata.google.internal',
  'instance-data.ec2.internal',
  'printer.local',
  'router.lan',
  'nas.home.arpa',
  'wiki.corp',
  'intranet',
  '1.0.0.127.in-addr.arpa',
  'hooks.example.com.',
  '-bad.example.com',
];

const wholeUrls = [
  'http://hooks.example.com/',
  'HTTP://hooks.example.com/',
  'ftp://hooks.example.com/',
  'file:///etc/passwd',
  'gopher://hooks.example.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  '//hooks.example.com/',
  'hooks.example.com/hook',
  'https:hooks.example.com',
  'https:/hooks.example.com',
  'https:///hooks.example.com',
  'https://',
  'https://?x',
  'https://user@hooks.example.com/',
  'https://user:pass@hooks.example.com/',
  'https://:pass@hooks.example.com/',
  'https://@hooks.example.com/',
  'https://hooks.example.com@127.0.0.1/',
  'https://127.0.0.1#@hooks.example.com/',
  'https://127.0.0.1\\@hooks.example.com/',
  'https://hooks.example.com\\@127.0.0.1/',
  'https://127.0.0.1\t/',
  ' https://hooks.example.com/',
  'https://hooks.example.com/\r\nX-Injected: 1',
  'https://hooks.exam\u0000ple.com/',
  'https://hooks.example.com:22/',
  'https://hooks.example.com:25/',
  'https://hooks.example.com:80/',
  'https://hooks.example.com:0/',
  'https://hooks.example.com:65536/',
  'https://hooks.example.com:https/',
  'https://[::1/',
  'https://127.1/',
  'https://256.256.256.256/',
];

/** `port` is where the test listens, so that a notation that is not blocked causes a detectable connection. */
export function privateSpellings(port: number): readonly string[] {
  const hosts = [...v4Addresses.flatMap(spellingsOf), ...v6Hosts, ...names];
  return [...hosts.map((host) => `https://${host}:${port}/hook`), ...wholeUrls];
}

/** Private addresses as a resolver returns them. */
export const privateAddresses: readonly string[] = [
  ...v4Addresses,
  ...v4Addresses.map((address) => `::ffff:${address}`),
  '::',
  '::1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001:db8::1',
  'fc00::1',
  'fe80::1',
  'fe80::1%lo',
  'ff02::1',
  'not an address',
];
