/**
 * Words for the kinds of things that people ask about, with what such things are called: "Which instruments does she
 * play?" is answered by a section about a violin that does not contain the word "instrument". English only; words of
 * other languages have none. What it changes is in docs/decisions/memory.md.
 */
export function relatedWords(word: string): readonly string[] {
  return [...new Set(singulars(word).flatMap((each) => RELATED.get(each) ?? []))];
}

/** The word itself, and what it may be the plural of. */
export function singulars(word: string): string[] {
  return [...new Set([word, word.replace(/ies$/, "y"), word.replace(/s$/, ""), word.replace(/es$/, "")])];
}

/** What is asked for: what it may be called in the text. */
const KINDS = `
  pet: dog puppy cat kitten hamster rabbit guinea parrot budgie goldfish tortoise turtle pony
  animal: dog cat horse cow sheep goat pig bird duck hen chicken fox wolf bear lion tiger elephant monkey deer fish whale
    snake turtle insect bee butterfly
  instrument: guitar piano violin viola cello drum flute clarinet oboe saxophone trumpet trombone harp ukulele banjo
    accordion harmonica keyboard organ
  music band: song band concert album singer jazz rock pop classical choir melody orchestra gig
  sport exercise: football soccer basketball baseball tennis golf hockey rugby cricket volleyball swim run jog cycle bike
    ski surf climb row skate gym yoga workout marathon
  hobby activity: paint draw pottery knit sew garden photograph cook bake read write dance sing hike camp fish chess swim
    run cycle climb yoga
  game: chess poker puzzle cards dice console
  book: novel read author story memoir biography poetry
  movie film: movie film cinema watch actor director documentary
  art: paint draw sculpture pottery photograph canvas gallery sketch exhibition portrait
  food meal dish eat: bread pasta pizza rice soup salad cheese meat chicken fish curry cake fruit vegetable sandwich noodle
    egg breakfast lunch dinner supper dish recipe cook
  dessert: cake pie cookie ice chocolate pudding
  fruit: apple banana orange pear grape strawberry cherry peach plum melon mango lemon berry
  vegetable: carrot potato tomato onion bean pea cabbage spinach broccoli pepper lettuce cucumber
  drink: coffee tea water juice wine beer milk soda lemonade
  clothes: shirt dress trousers jeans shoes coat jacket hat sweater skirt socks boots scarf
  car vehicle: car truck van bike motorbike bus train tram boat drive
  family relative: mother father mom mum dad brother sister son daughter husband wife parent grandmother grandfather
    grandma grandpa aunt uncle cousin niece nephew kid child
  parent: mother father mom mum dad
  sibling: brother sister
  partner spouse: husband wife boyfriend girlfriend
  child: kid son daughter baby boy girl
  job career profession: job work career profession position employer boss office salary
  education study: school college university degree course exam
  class: course lesson workshop
  illness health: sick disease flu fever cancer diabetes asthma allergy diagnosis infection doctor hospital clinic
  injury: hurt break sprain wound fracture
  doctor: hospital clinic physician surgeon dentist nurse
  furniture: table chair sofa couch bed desk shelf lamp
  device: phone laptop computer tablet camera
  country: france germany italy spain portugal england ireland scotland sweden norway denmark finland poland greece turkey
    russia china japan india canada mexico brazil argentina australia egypt kenya thailand vietnam korea usa america
  city: london paris berlin rome madrid barcelona lisbon vienna prague amsterdam brussels dublin hamburg munich milan
    florence venice oslo stockholm copenhagen tokyo york chicago boston seattle toronto sydney
  place: city town country park beach museum lake mountain island forest
  trip travel vacation holiday: trip travel vacation holiday flight journey visit tour
  colour color: red blue green yellow white black purple orange pink brown grey
  plant flower: flower tree rose tulip lily daisy sunflower orchid lavender cactus
  weather: rain snow storm sun wind cloud hail fog
  award: prize trophy medal win
  competition: contest tournament race match championship
  money: euros dollars pounds cost price pay salary budget loan bank
  gift: present birthday
  marriage wedding: marry wedding bride groom husband wife
  religion: church god faith pray temple
  charity: donate volunteer
  event: party concert festival conference meeting show fair
  emotion: happy sad angry proud scared excited nervous grateful
  language: english french german spanish italian portuguese chinese japanese russian arabic`;

/** Each of these stands for the others of its line. */
const ALIKE = `kid child, mother mum mom, father dad, photo picture pic, house home flat apartment, shop store,
  begin start, buy purchase, advice tip suggest recommend, favourite favorite fave, afraid scared fear, goal dream,
  movie film, relax rest calm`;

const RELATED: ReadonlyMap<string, readonly string[]> = wordLists();

function wordLists(): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  const add = (word: string, others: readonly string[]) =>
    lists.set(word, [...(lists.get(word) ?? []), ...others.filter((each) => each !== word)]);
  for (const [, asked = "", called = ""] of KINDS.matchAll(/([a-z ]+): ([a-z\s]+)(?=\n {2}\S|$)/g))
    for (const word of asked.trim().split(" ")) add(word, called.trim().split(/\s+/));
  for (const line of ALIKE.split(",")) {
    const words = line.trim().split(/\s+/);
    for (const word of words) add(word, words);
  }
  return lists;
}
