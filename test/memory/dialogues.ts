import { diceOf } from "../simulation/dice.ts";

/**
 * Long dialogues of two friends, made by rule and the same each time: a hundred sessions in which they come back to
 * the same twenty topics in twelve places. Who asks names the place; who answers, often after a digression, does not.
 * Questions put it in other words, as somebody does who remembers that there was something.
 */
export interface Dialogues {
  /** A file's text by its path. */
  files: Record<string, string>;
  questions: { question: string; path: string; answer: string }[];
}

interface Topic {
  asks: string;
  answers: (fact: string) => string;
  question: string;
  fact: (number: number) => string;
}

const PLACES = "Lisbon Oslo Kyoto Denver Tallinn Porto Quito Cardiff Leipzig Hobart Bergen Toledo".split(" ");
const SPEAKERS = ["Maria", "Jonas"] as const;

const TOPICS: Topic[] = [
  {
    asks: "How did the marathon in PLACE go for you?",
    answers: (fact) => `As for the race, I finished it in ${fact}, and my knees have not forgiven me.`,
    question: "What was the finishing time at the PLACE marathon?",
    fact: (n) => `three hours and ${20 + n} minutes`,
  },
  {
    asks: "Did the shelter in PLACE let you have a dog?",
    answers: (fact) => `They did, I adopted a greyhound, and she is called ${fact}.`,
    question: "What is the name of the dog that was adopted at the shelter in PLACE?",
    fact: (n) => `Pixel the ${n}th`,
  },
  {
    asks: "And the apartment you looked at in PLACE?",
    answers: (fact) => `We are renting it, ${fact} a month with heating.`,
    question: "How much rent does the apartment in PLACE cost?",
    fact: (n) => `${700 + n * 35} euros`,
  },
  {
    asks: "How was the concert in PLACE?",
    answers: (fact) => `The band played until ${fact}, no encore, but I would listen again.`,
    question: "Until when did the band at the PLACE concert keep playing?",
    fact: (n) => `a quarter past ${n}`,
  },
  {
    asks: "What became of the job interview in PLACE?",
    answers: (fact) => `They offered me the position, I begin as ${fact}.`,
    question: "Which position was offered after interviewing in PLACE?",
    fact: (n) => `an analyst of grade ${n}`,
  },
  {
    asks: "Are you still baking for the market in PLACE?",
    answers: (fact) => `I bake every Friday, lately ${fact}, and they sell out.`,
    question: "What gets baked for the PLACE market?",
    fact: (n) => `rye loaves with ${n} seeds`,
  },
  {
    asks: "Tell me about your sister's wedding in PLACE.",
    answers: (fact) => `She married on ${fact}, in the rain, and nobody minded.`,
    question: "On which date did the sister marry in PLACE?",
    fact: (n) => `the ${n}th of May`,
  },
  {
    asks: "Is the motorbike from PLACE repaired?",
    answers: (fact) => `The mechanic is repairing it for ${fact}, which hurts.`,
    question: "What do the repairs of the motorbike from PLACE cost?",
    fact: (n) => `${n * 90} crowns`,
  },
  {
    asks: "Did your painting for the gallery in PLACE sell?",
    answers: (fact) => `I sold two paintings, the bigger one to ${fact}.`,
    question: "Who bought the bigger painting shown at the gallery in PLACE?",
    fact: (n) => `a dentist with ${n} cats`,
  },
  {
    asks: "How is the garden behind the house in PLACE?",
    answers: (fact) => `I planted ${fact} there, and the slugs are pleased.`,
    question: "What was planted in the garden in PLACE?",
    fact: (n) => `${n} rows of beans`,
  },
  {
    asks: "Has the doctor in PLACE found what it is?",
    answers: (fact) => `The diagnosis is ${fact}; he prescribed rest and no coffee.`,
    question: "What did the doctor in PLACE diagnose?",
    fact: (n) => `an allergy of type ${n}`,
  },
  {
    asks: "Did you ever finish the pottery course in PLACE?",
    answers: (fact) => `I finished, and the teacher kept ${fact} for the exhibition.`,
    question: "What did the pottery teacher in PLACE keep after the course was finished?",
    fact: (n) => `my vase number ${n}`,
  },
  {
    asks: "How was hiking above PLACE?",
    answers: (fact) => `We hiked ${fact} and saw nothing but fog.`,
    question: "How far was the hike above PLACE?",
    fact: (n) => `${n * 3} kilometres`,
  },
  {
    asks: "Was the flight home from PLACE delayed again?",
    answers: (fact) => `The delay was ${fact}, and they gave us crackers.`,
    question: "How long were the delays when flying back from PLACE?",
    fact: (n) => `${n} hours and a half`,
  },
  {
    asks: "Which book did your club in PLACE choose?",
    answers: (fact) => `We are reading ${fact}, all of it aloud.`,
    question: "What is the reading club in PLACE going through?",
    fact: (n) => `volume ${n} of the sagas`,
  },
  {
    asks: "Did the chess tournament in PLACE go well?",
    answers: (fact) => `I lost in round ${fact}, to a child who was chewing gum.`,
    question: "In which round of the PLACE chess tournament was the game that was lost?",
    fact: (n) => `number ${n}`,
  },
  {
    asks: "Is your cousin still studying in PLACE?",
    answers: (fact) => `She studies ${fact} now and never calls.`,
    question: "What are the studies of the cousin in PLACE about?",
    fact: (n) => `geology, semester ${n}`,
  },
  {
    asks: "What did you cook for the guests in PLACE?",
    answers: (fact) => `I cooked ${fact}, and they asked for the recipe.`,
    question: "Which dish was cooked for guests in PLACE?",
    fact: (n) => `a stew with ${n} kinds of lentils`,
  },
  {
    asks: "How did the exam in PLACE turn out?",
    answers: (fact) => `I passed with ${fact}, which is more than I deserved.`,
    question: "With which result was the PLACE exam passed?",
    fact: (n) => `${60 + n * 3} points`,
  },
  {
    asks: "Have you found a violin teacher in PLACE?",
    answers: (fact) => `I have, she teaches on ${fact} and is strict about wrists.`,
    question: "When are violin lessons taught in PLACE?",
    fact: (n) => `the ${n}th day of each month`,
  },
];

const OPENERS = [
  "Honestly,",
  "You know,",
  "Funny thing,",
  "Well,",
  "To be fair,",
  "I keep thinking that",
  "Anyway,",
  "Between us,",
];
const CLAUSES = [
  "the neighbours have begun drilling at seven",
  "my phone dies whenever it gets cold",
  "I walked home through the park and saw two foxes",
  "the office moved us to the second floor",
  "we finally fixed the kitchen tap",
  "it rained all week and the cellar is damp",
  "I have been sleeping badly since the clocks changed",
  "my mother calls every evening to ask about the weather",
  "the tram was so full that I got off and took a taxi",
  "I tried the new bakery and was not impressed",
  "someone left a race bike in our hallway",
  "a band rehearses downstairs every other night",
  "the rent went up again and nobody explained why",
  "I lost my keys and found them in the fridge",
  "they painted the stairs green without telling anyone",
  "the doctor says I should drink more water",
  "my colleague is reading poetry in meetings",
  "we planted a tree in front of the school",
  "the kids next door are learning the trumpet",
  "I finished the puzzle apart from one piece",
  "the supermarket stopped selling the good tea",
  "our flight prices doubled overnight",
  "I passed three people I knew and greeted none",
  "the old cinema is going to close after all",
];
const NODS = ["Really?", "Oh no.", "Ha, typical.", "I can imagine.", "Go on.", "That sounds right.", "Same here."];

export function dialogues(): Dialogues {
  const { pick, int, between } = diceOf("dialogues");
  const shuffled = <T>(list: readonly T[]): T[] =>
    list
      .map((item) => ({ item, at: int(1_000_000) }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  const all = shuffled(
    TOPICS.flatMap((topic, t) => PLACES.map((place, p) => ({ topic, place, number: 2 + ((t * 5 + p * 7) % 29) }))),
  );
  const files: Record<string, string> = {};
  const questions: Dialogues["questions"] = [];
  const chatter = (length: number) =>
    Array.from({ length }, () => `${pick(OPENERS)} ${pick(CLAUSES)}, and ${pick(CLAUSES)}.`).join(" ");
  for (let session = 1; all.length > 0; session++) {
    const day = new Date(Date.UTC(2025, 0, 3 * session)).toISOString().slice(0, 10);
    const path = `talks/${day}.md`;
    const turns: string[] = [];
    for (const { topic, place, number } of all.splice(0, between(2, 3))) {
      const [asker, teller] = shuffled(SPEAKERS);
      const answer = topic.answers(topic.fact(number));
      turns.push(`${asker}: ${topic.asks.replace("PLACE", place)}`);
      turns.push(`${teller}: ${chatter(between(0, 3))}`, `${asker}: ${pick(NODS)}`);
      turns.push(`${teller}: ${chatter(between(0, 2))} ${answer}`);
      for (let more = between(2, 6); more > 0; more--) turns.push(`${pick(SPEAKERS)}: ${chatter(between(1, 2))}`);
      questions.push({ question: topic.question.replace("PLACE", place), path, answer });
    }
    files[path] = `# ${day}\n\n${turns.join("\n")}\n`;
  }
  return { files, questions };
}
