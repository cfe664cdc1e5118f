// Tests words, signs, names and sentences that spoken/english.txt lacks, as a careful newsreader would say them.
import { expect, test } from 'vitest';
import { spoken, toRows } from './spoken.ts';

const rows = toRows(`
## symbols
2 + 2 = 4 => two plus two equals four
5-3=2 => five minus three equals two
x-3 = 2 => x minus three equals two
2x-3=7 => two x minus three equals seven
9-4-2=3 => nine minus four minus two equals three
3+4-2=5 => three plus four minus two equals five
they won 5-3 => they won five to three
pages 5-7 = the middle => pages five to seven equals the middle
e-mail=x => e-mail equals x
5 - 3 = 2 => five minus three equals two
x > 5 => x greater than five
5 ± 2 => five plus or minus two
© 2024 => copyright twenty twenty four
Foo™ => Foo trademark
2*3 => two times three
2 * 3 => two times three
x³ + y² => x cubed plus y squared
2^10 => two to the power of ten
Home | About => Home, About
~50 => about fifty
snake_case => snake case
§ 5 => section five
α and β => alpha and beta
I <3 you => I heart you
## addresses
john.smith42@gmail.com => john dot smith forty two at gmail dot com
https://www.example.com/a/b?c=d => W W W dot example dot com slash a slash b question mark c equals d
www.a.constructor => W W W dot a dot constructor
www.example.com. => W W W dot example dot com.
visit github.com/user/repo today => visit github dot com slash user slash repo today
/usr/local/bin => slash usr slash local slash bin
~/notes.txt => tilde slash notes dot T X T
src/main.ts => S R C slash main dot T S
@sonant_dev => at sonant underscore dev
#ThrowbackThursday => hashtag Throwback Thursday
v2.0.1 => version two point zero point one
Node 24.1.0 => Node twenty four point one point zero
https://en.wikipedia.org/wiki/Foo_(bar) => en dot wikipedia dot org slash wiki slash Foo underscore bar
## capitals
the U.S. economy => the U S economy
FBI's => F B I's
HELLO WORLD => hello world
THIS IS IMPORTANT => this is important
IT department => I T department
the US and UK => the U S and U K
WHO says => W H O says
Ph.D. in maths => P H D in maths
H2O => H two O
A380 => A three eighty
RTX 4090 => R T X forty ninety
T-shirt => T-shirt
10-year-old => ten year-old
## abbreviations
Dr. Smith => Doctor Smith
Dr Smith => Doctor Smith
Elm Dr. => Elm Drive.
St. Paul => Saint Paul
Main St. => Main Street.
St. Paul's Cathedral on Fleet St. is old => Saint Paul's Cathedral on Fleet Street is old
No. 5 => number five
No. I won't. => No. I won't.
e.g. this => for example this
etc. => et cetera.
Mr. and Mrs. Jones => Mister and Missus Jones
Prof. Lee => Professor Lee
Apple Inc. is big => Apple Incorporated is big
Roe v. Wade => Roe versus Wade
J. R. R. Tolkien => J. R. R. Tolkien
Fig. 3 => figure three
p. 5 => page five
Mt. Everest => Mount Everest
Ft. Worth => Fort Worth
approx. 5 => approximately five
Sgt. Pepper => Sergeant Pepper
Lt. Gov. Jones => Lieutenant Governor Jones
Martin Luther King Jr. spoke => Martin Luther King Junior spoke
D.C. is => D C is
## Roman numerals
Elizabeth II's reign => Elizabeth the second's reign
Super Bowl LVIII => Super Bowl fifty eight
Rocky IV => Rocky four
Malcolm X => Malcolm X
Part I => Part one
Charles I was king => Charles the first was king
Act II, Scene III => Act two, Scene three
Pope John Paul II => Pope John Paul the second
Ⅷ => eight
## other scripts and forms
Greek λόγος word => Greek logos word
Привет world => Privet world
in 北京 today => in BeiJing today
مرحبا there => mrhb there
٣ apples => three apples
５ ＡＢＣ ｆｕｌｌ => five A B C full
It’s “fine”… => It's "fine"...
He left—alone => He left, alone
He left — alone => He left, alone
wait...what => wait... what
don't => don't
'tis => 'tis
rock 'n' roll => rock and roll
rock ’n’ roll => rock and roll
Guns N' Roses, drum'n'bass => Guns and Roses, drum and bass
the letter 'n' is, say 'n' twice => the letter 'n is, say 'n twice
the dogs' tails => the dogs tails
café => café
ﬁne ﬂow => fine flow
①② => one two
hmm => hmm
tmp => T M P
twenty-one => twenty-one
## decoration
!!!! =>
----- =>
$$$$$ =>
What?! No!!! => What?! No!
:-) =>
Dear <name>, => Dear name,
[1] => one
end.Start => end. Start
## whole sentences
The Fed raised rates by 0.25% on Wed., Mar. 22, 2023, bringing the target range to 4.75%-5.00%. => The Fed raised rates by zero point two five percent on Wednesday, March twenty second, twenty twenty three, bringing the target range to four point seven five percent to five point zero zero percent.
Shares of Apple Inc. (NASDAQ: AAPL) rose 3.2% to $173.50 in after-hours trading at 5:15 p.m. ET. => Shares of Apple Incorporated (Nasdaq: A A P L) rose three point two percent to one hundred seventy three dollars and fifty cents in after-hours trading at five fifteen P M E T.
On 6 June 1944, over 156,000 Allied troops landed along a 50-mile stretch of coastline. => On the sixth of June nineteen forty four, over one hundred fifty six thousand Allied troops landed along a fifty mile stretch of coastline.
Preheat oven to 350°F (175°C). Mix 2 1/2 cups flour, 1 tsp salt, and 3/4 cup butter; bake 25-30 min. => Preheat oven to three hundred fifty degrees Fahrenheit (one hundred seventy five degrees Celsius). Mix two and a half cups flour, one teaspoon salt, and three quarters cup butter; bake twenty five to thirty minutes.
Hi Bob, can we meet @ 3pm tmrw? Call me at 555-867-5309 or email bob.jones+work@mail.co.uk. Thx! => Hi Bob, can we meet at three P M tomorrow? Call me at five five five, eight six seven, five three zero nine or email bob dot jones plus work at mail dot co dot U K. Thanks!
Roughly 1 in 5 adults (20.6%) — some 51.5M people — live with it. => Roughly one in five adults (twenty point six percent), some fifty one point five million people, live with it.
See Fig. 3 and Eqs. 4-5 on pp. 12-15 of Smith et al. (2019). => See figure three and equations four to five on pages twelve to fifteen of Smith et al (twenty nineteen).
He lives at 221B Baker St., London NW1 6XE, U.K. => He lives at two hundred twenty one B Baker Street, London N W one six X E, U K.
Mr. & Mrs. O'Brien's 25th anniversary is Sat., Dec. 7th. => Mister and Missus O'Brien's twenty fifth anniversary is Saturday, December seventh.
Q1 revenue: $4.2B (+12% YoY); EPS of $1.05 beat by $0.07. => Q one revenue: four point two billion dollars (plus twelve percent year over year); E P S of one dollar and five cents beat by seven cents.
The U.S. Senate voted 51-49. The U.K. followed. => The U S Senate voted fifty one to forty nine. The U K followed.
Version 3.11.4 was released on 2023-06-06. => Version three point eleven point four was released on June sixth, twenty twenty three.
Dial 1-800-555-0199 ext. 42 between 9 a.m. and 5 p.m. Mon-Fri. => Dial one, eight hundred, five five five, zero one nine nine extension forty two between nine A M and five P M Monday to Friday.
Your order #A1234-56 ships 12/3. Total: US$1,299.00. => Your order number A one two three four fifty six ships December third. Total: one thousand two hundred ninety nine U S dollars.
She was born in the 1920s, at No. 10 Downing St., and died in '87. => She was born in the nineteen twenties, at number ten Downing Street, and died in eighty seven.
The IPO price was set at $17-$19 per share, valuing it at ~$2.5bn. => The I P O price was set at seventeen to nineteen dollars per share, valuing it at about two point five billion dollars.
Louis XVI and Marie Antoinette; Henry VIII's wives; Vatican II; Ali III. => Louis the sixteenth and Marie Antoinette; Henry the eighth's wives; Vatican two; Ali three.
He ran the 100m in 9.58s, the 200 m in 19.19 s. => He ran the one hundred meters in nine point five eight seconds, the two hundred meters in nineteen point one nine seconds.
I'd say 50/50. He's 6'2" and 200 lbs. => I'd say fifty fifty. He's six feet two and two hundred pounds.
Add 1/2 tsp. of salt. Stir. => Add one half teaspoon of salt. Stir.
Prof. Dr. Hans Müller of ETH Zürich won €1.5 million. => Professor Doctor Hans Müller of E T H Zürich won one point five million euros.
He got an A+ in maths, a B- in art. => He got an A plus in maths, a B minus in art.
It happened on the 4th of July, 1776 at 12:30. => It happened on the fourth of July, seventeen seventy six at twelve thirty.
The meeting is 2024-03-15 14:30 UTC+1. => The meeting is March fifteenth, twenty twenty four, fourteen thirty U T C plus one.
A.I. vs AI vs. ML; e.g., GPT-4o, Llama 3.1 8B => A I versus A I versus M L; for example, G P T four o, Llama three point one eight billion
2,5 kg; 1.000.000; 1'000 => two, five kilograms; one million; one zero zero zero
The company (est. 1999) has 1,200+ employees in 30+ countries. => The company (established nineteen ninety nine) has one thousand two hundred plus employees in thirty plus countries.
Room 205, 5th floor, 1600 Pennsylvania Ave. NW, Washington, DC 20500 => Room two oh five, fifth floor, sixteen hundred Pennsylvania Avenue N W, Washington, D C two zero five zero zero
`);

test.each(rows)('$subject: $written', ({ written, said }) => {
  expect(spoken(written)).toBe(said);
});

test('a language without a reader is left to the engine', () => {
  expect(spoken('Se maksaa 5 € kello 3.', 'fi-FI')).toBe('Se maksaa 5 € kello 3.');
});

test.each(['en-US', 'de-DE'])(
  '%s: a mark that no letter has is dropped, and the letters around it stay',
  (languageCode) => {
    expect(spoken('Łódz\u0330 Łąb\u0335', languageCode)).toBe('Łódz Łąb');
  },
);
