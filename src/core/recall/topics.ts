import { termsOf } from './terms.ts'

/**
 * Words that belong to the same part of life. When users ask for advice, the search should find what they have said about the same topic in
 * other words. For `Any ideas for dinner?`, the search should find what they said about dishes. For `Which concert should I see?`, it
 * should find what they said about music.
 */

/** A search for one word also looks for the other words of its topic. A word may be in several topics. */
const topics = `
dinner lunch breakfast menu meal dish eat cook bake recipe ingredient cuisine restaurant kitchen spice vegetable meat fish sauce soup bread dessert snack grill oven vegetarian vegan diet;
drink coffee tea espresso wine beer cocktail juice brew cup bar;
photography photo camera lens shoot picture portrait tripod flash gear image;
music concert band song album orchestra instrument guitar piano violin sing choir festival jazz opera composer ensemble listen playlist;
movie film series watch cinema show actor director documentary comedy thriller episode stream;
book read novel author story library fiction biography poem chapter writer magazine;
game play board card puzzle chess console player quiz dice;
sport exercise workout gym fitness active training train muscle weights kettlebell yoga pilates run swim cycle stretch cardio strength coach;
health pain doctor sleep sore massage physiotherapy knee neck shoulder posture medicine therapy stretch swim rest injury;
trip travel vacation holiday hotel flight destination tour sightseeing hostel resort beach island luggage airport abroad room pool guesthouse;
outdoor hike camp trail tent mountain climb backpack kayak fishing forest park;
garden yard balcony plant flower grow seed soil vegetable herb tree shrub perennial lawn compost bee prune sow bloom;
home house flat apartment furniture room decorate decoration lamp light shade sofa table shelf wall paint carpet curtain kitchen bedroom wood style;
repair renovate tool drill build fix wood paint tile plumbing workshop craft;
office desk computer laptop monitor keyboard printer software linux windows chair headset gadget device setup;
phone app tablet device battery screen gadget charger smartwatch headphone;
money budget bonus save savings invest investment fund bond stock share bank pension loan salary tax insurance interest portfolio;
job work career project team colleague manager interview skill promotion meeting company client;
study learn course class lecture training school university language podcast teacher exam skill book lesson practice tutorial workshop;
language vocabulary grammar speak fluent translate pronunciation podcast tutor;
gift present birthday sister brother mother father friend surprise collect wish;
child kid baby toddler toy school playground parent daughter son nursery;
pet dog cat puppy kitten parrot bird rabbit hamster fish toy walk leash feed vet chew;
clothes wear dress outfit shirt shoe jacket suit fashion style fabric size wardrobe;
beauty skin hair makeup cream shampoo salon scent;
neighbourhood neighbor neighbour community volunteer charity club help repair donate association meet event local;
party guest host celebrate birthday wedding invite invitation decoration evening friend;
art paint draw sketch sculpture museum gallery exhibition craft pottery canvas;
craft sew knit crochet quilt fabric yarn pattern pottery handmade;
car drive vehicle tire tyre engine electric charge mileage road motorbike;
bike bicycle cycle ride helmet route commute;
program code software developer language framework library database data visualisation visualization chart api project;
shop store buy purchase brand order discount price;
weekend evening leisure hobby spare relax unwind;
news politics history science documentary podcast;
spiritual meditation mindfulness yoga breathe stress calm anxiety therapist journal`

/** The map is made when a question asks for advice for the first time. */
let byTerm: ReadonlyMap<string, readonly string[]> | undefined

function readTopics(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  for (const words of topics.split(';').map(termsOf))
    for (const term of words) {
      const known = found.get(term) ?? new Set<string>()
      for (const other of words) if (other !== term) known.add(other)
      found.set(term, known)
    }
  return new Map([...found].map(([term, others]) => [term, [...others]]))
}

/** Terms of words that belong to the same topics as `term`. */
export function topicTerms(term: string): readonly string[] {
  byTerm ??= readTopics()
  return byTerm.get(term) ?? []
}

const advice: ReadonlySet<string> = new Set(
  'recommend recommendation recommendations suggest suggestion suggestions advice advise tip tips idea ideas inspiration should could shall'.split(
    ' ',
  ),
)

/** Whether a question asks for advice, and not for a fact. A question with `did` asks for a fact. `words` are its words in lower case. */
export const asksForAdvice = (words: readonly string[]): boolean => words.some((word) => advice.has(word)) && !words.includes('did')
