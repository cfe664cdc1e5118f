// Tests numbers of every kind that spoken/english.txt lacks, as a careful newsreader would say them.
import { expect, test } from 'vitest';
import { spoken, toRows } from './spoken.ts';

const rows = toRows(`
## cardinals
1234567 => one million two hundred thirty four thousand five hundred sixty seven
12,345,678,901 => twelve billion three hundred forty five million six hundred seventy eight thousand nine hundred one
1000000000000 => one trillion
1 234 567 => one million two hundred thirty four thousand five hundred sixty seven
10.000,50 => ten thousand point five zero
3 000-4 000 => three thousand to four thousand
€3 000, 1 234 567 km => three thousand euros, one million two hundred thirty four thousand five hundred sixty seven kilometers
in 2020 300 people => in twenty twenty three hundred people
1 800 555-1234 => one, eight hundred, five five five, one two three four
20,000 leagues => twenty thousand leagues
5, 6, 7 => five, six, seven
## signs, decimals and zeros
.5 of it => point five of it
1,234.50 => one thousand two hundred thirty four point five zero
It is -5 outside. => It is minus five outside.
−12.5 => minus twelve point five
± 5 => plus or minus five
## long digits and names of numbers
ZIP code 90210 => Zip code nine zero two one zero
ISBN 978-3-16-148410-0 => I S B N nine seven eight, three, one six, one four eight, four one zero, zero
192.168.1.1 => one nine two dot one six eight dot one dot one
№ 5 => number five
Apollo 11 => Apollo eleven
747s => seven forty sevens
## telephones
(415) 555-1212 => four one five, five five five, one two one two
415-555-1212 => four one five, five five five, one two one two
+1 (415) 555-1212 => plus one, four one five, five five five, one two one two
+44 20 7946 0958 => plus four four, two zero, seven nine four six, zero nine five eight
1-800-555-1212 => one, eight hundred, five five five, one two one two
020 7946 0958 => zero two zero, seven nine four six, zero nine five eight
## fractions and ratios
3¼ hours => three and a quarter hours
3½ hours => three and a half hours
2 1/2 cups => two and a half cups
2/3 of them => two thirds of them
3:1 => three to one
16:9 aspect ratio => sixteen to nine aspect ratio
a 2:1 lead => a two to one lead
## percentages and ranges
50% => fifty percent
3.5% => three point five percent
10-20% => ten to twenty percent
0.5 % => zero point five percent
10–20 => ten to twenty
10-20 people => ten to twenty people
pages 5–7 => pages five to seven
1999–2004 => nineteen ninety nine to two thousand four
1914–18 => nineteen fourteen to eighteen
the 2024–25 season => the twenty twenty four to twenty five season
## ordinals
5th Ave. => fifth Avenue.
## years
in 1999 => in nineteen ninety nine
1905 => nineteen oh five
the 1900s => the nineteen hundreds
the 1990s => the nineteen nineties
the '90s => the nineties
class of '99 => class of ninety nine
the 80s => the eighties
2010s => twenty tens
1984 units were sold => one thousand nine hundred eighty four units were sold
in 1984 sales rose => in nineteen eighty four sales rose
476 AD => four hundred seventy six A D
in his 30s => in his thirties
mid-1990s => mid nineteen nineties
Q3 2024 => Q three twenty twenty four
## dates
2024-12-25 => December twenty fifth, twenty twenty four
2024-12-25T14:05:00Z => December twenty fifth, twenty twenty four, fourteen oh five U T C
12/25/2024 => December twenty fifth, twenty twenty four
25/12/2024 => December twenty fifth, twenty twenty four
25.12.2024 => December twenty fifth, twenty twenty four
12-25-2024 => December twenty fifth, twenty twenty four
1/1/24 => January first, twenty twenty four
25 December 2024 => the twenty fifth of December twenty twenty four
on 5 May I went => on the fifth of May I went
Dec 25th => December twenty fifth
Dec. 25 => December twenty fifth
December 25, 2024 => December twenty fifth, twenty twenty four
on the 25th of December => on the twenty fifth of December
Jan 5-7 => January fifth to seventh
Mon, Dec 25 => Monday, December twenty fifth
Jan. He left => January. He left
Wed. night => Wednesday night
King George VI of England died on Feb 6, 1952. => King George the sixth of England died on February sixth, nineteen fifty two.
## times
3:45pm => three forty five P M
3:45 p.m. => three forty five P M.
at 3 p.m. He left => at three P M. He left
14:05 => fourteen oh five
12:00 pm => twelve P M
14:00 => fourteen hundred
9am–5pm => nine A M to five P M
9:00 - 17:00 => nine o'clock to seventeen hundred
1:23:45 => one twenty three and forty five seconds
5:30am EST => five thirty A M E S T
## money
$19.99 => nineteen dollars and ninety nine cents
€3.50 => three euros and fifty cents
¥500 => five hundred yen
$1.2M => one point two million dollars
$3 billion => three billion dollars
$5-$10 => five to ten dollars
$5–10 million => five to ten million dollars
$100/month => one hundred dollars per month
($5) => (five dollars)
$1,234.50 => one thousand two hundred thirty four dollars and fifty cents
₹100 => one hundred rupees
€1bn => one billion euros
$5, $6 => five dollars, six dollars
## units
10GB => ten gigabytes
37°C => thirty seven degrees Celsius
5'11" => five feet eleven
5 ft 3 in tall => five feet three inches tall
5 ft 3 in. => five feet three inches.
1 foot 1 in => one foot one inch
5 ft 3 in the air => five feet three in the air
6' tall => six feet tall
3x faster => three times faster
20 m² => twenty square meters
5 m³ => five cubic meters
120 km/h => one hundred twenty kilometers per hour
0.5 l => zero point five liters
4K TV => four K T V
8.5x11 => eight point five by eleven
3 × 4 => three times four
10Mbps => ten megabits per second
5 in. wide => five inches wide
12" pizza => twelve inch pizza
5-km run => five kilometer run
100 W => one hundred watts
2.4GHz => two point four gigahertz
30s timeout => thirty seconds timeout
`);

test.each(rows)('$subject: $written', ({ written, said }) => {
  expect(spoken(written)).toBe(said);
});

test('outside the United States the day comes first', () => {
  expect(spoken('12/11/2024', 'en-US')).toBe('December eleventh, twenty twenty four');
  expect(spoken('12/11/2024', 'en-GB')).toBe('the twelfth of November, twenty twenty four');
  expect(spoken('2024-12-25', 'en-GB')).toBe('the twenty fifth of December, twenty twenty four');
});

test('a number too long for words is read digit by digit, every digit', () => {
  const names = spoken('1234567890'.repeat(40)).match(/\w+/g)!;
  expect(names).toHaveLength(400);
  expect(names.slice(0, 11)).toEqual('one two three four five six seven eight nine zero one'.split(' '));
});

test('the largest numbers with names', () => {
  expect(spoken('999,999,999,999,999,999,999')).toMatch(/^nine hundred ninety nine quintillion /);
  expect(spoken('1,000,000,000,000,000,000')).toBe('one quintillion');
});
