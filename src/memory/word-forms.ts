/**
 * English words with irregular forms that no stemmer unites: a search for where somebody went should find "go". Forms
 * that are often another word ("bit", "lives", "wound") are left out. "ß" is "ss". Both stored text and queries pass
 * through this, so that nothing is lost in other languages.
 */
export function plainForms(text: string): string {
  return text.replaceAll("ß", "ss").replace(ASCII_WORD, (word) => PLAIN.get(word.toLowerCase()) ?? word);
}

const ASCII_WORD = /[A-Za-z]{3,}/g;

const FORMS = `arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent,
  bite bitten, bleed bled, blow blew blown, break broke broken, bring brought, build built, burn burnt, buy bought,
  catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt,
  drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found,
  flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
  freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid
  hidden, hold held, keep kept, kneel knelt, know knew known, lay laid, lead led, lean leant, leap leapt, learn learnt,
  leave left, lend lent, light lit, lose lost, make made, mean meant, meet met, pay paid, ride rode ridden, ring rang
  rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, shake shook shaken,
  shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
  slide slid, smell smelt, speak spoke spoken, spell spelt, spend spent, spill spilt, spin spun, spring sprang sprung,
  stand stood, steal stole stolen, stick stuck, strike struck, swear swore sworn, sweep swept, swell swollen, swim swam
  swum, swing swung, take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown,
  understand understood, wake woke woken, wear wore worn, weave wove woven, weep wept, win won, write wrote written,
  child children, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese, knife knives, wife wives,
  half halves, shelf shelves, wolf wolves, loaf loaves, thief thieves, calf calves`;

const PLAIN: ReadonlyMap<string, string> = new Map(
  FORMS.split(",").flatMap((line) => {
    const [plain = "", ...forms] = line.trim().split(/\s+/);
    return forms.map((form): [string, string] => [form, plain]);
  }),
);
