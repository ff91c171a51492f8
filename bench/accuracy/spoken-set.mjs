// Sentences that belong to three grammars and speech that belongs to none of them, spoken by the voices of flite and
// espeak-ng. Everything is made here and nothing is recorded: the same seed gives the same samples with the same
// versions of both programs.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomSource } from './noises.mjs'

/**
 * Two grammars of sentences and one of single words, the sentences of each, and what is foreign to it, by kind:
 * - `sentence`: ordinary sentences, without the words of the grammar or with few of them
 * - `near`: a sentence of the grammar with one other word in place of one of its words
 * - `mixed`: many words of the grammar, in sentences that it does not have
 * - `longer`: a sentence of the grammar with other speech before or after it
 * - `fragment`: a part of a sentence of the grammar
 * - `word`: single words; `digits`: three to six digits; `letter`: the name of a letter
 */
export const grammars = [
  {
    name: 'home',
    jsgf: `#JSGF V1.0;
grammar home;
<room> = kitchen | bedroom | garden | hallway | office;
<light> = turn (on | off) the <room> (light | lamp);
<heat> = set the <room> to (sixteen | eighteen | nineteen | twenty one) degrees;
<blind> = (open | close) the (blinds | curtains | window) in the <room>;
<music> = play (some music | the radio | my favorite song);
<alarm> = wake me up at (six | seven | half past eight) tomorrow;
<short> = good night | stop | louder please | what time is it;
public <order> = <light> | <heat> | <blind> | <music> | <alarm> | <short>;
`,
    sentences: [
      'turn on the kitchen light',
      'turn off the hallway lamp',
      'set the bedroom to eighteen degrees',
      'set the office to twenty one degrees',
      'open the blinds in the garden',
      'close the curtains in the bedroom',
      'open the window in the office',
      'play some music',
      'play my favorite song',
      'wake me up at half past eight tomorrow',
      'good night',
      'what time is it',
      'louder please',
    ],
    foreign: {
      sentence: [
        'the train to the coast leaves from another platform today',
        'my brother bought a wooden boat last summer',
        'could you tell her that the meeting was moved',
        'nobody has watered the tomatoes since monday',
        'i think we should have taken the other road',
        'there is a small bakery behind the old church',
      ],
      near: [
        'turn on the kitchen fan',
        'set the bedroom to eighteen percent',
        'open the drawers in the garden',
        'play some chess',
        'turn down the hallway lamp',
      ],
      mixed: [
        'the light in the kitchen is twenty years old',
        'my office is close to the garden',
        'music at night is a good song',
      ],
      longer: [
        'play some music because my brother is in a bad mood',
        'she told me this morning what time is it',
        'open the window in the office and throw the old papers away',
        'good night and give my regards to your parents',
      ],
      fragment: ['turn on the', 'in the bedroom', 'half past eight'],
      word: ['elephant', 'hello', 'thursday', 'maybe'],
      digits: ['four nine two', 'seven one one five', 'three zero eight two six'],
    },
  },
  {
    name: 'shop',
    jsgf: `#JSGF V1.0;
grammar shop;
<count> = one | two | three | four | five | ten;
<thing> = tickets | bottles | boxes | pillows | candles;
<order> = i would like (to order | to return) <count> <thing>;
<where> = where is my (parcel | invoice | refund);
<pay> = i want to pay (by card | in cash | by invoice);
<talk> = (please connect me | let me speak) to (the sales team | the service desk | a manager);
<change> = change my (address | password | delivery date);
<short> = yes | no | yes please | no thank you | cancel | repeat that | main menu;
public <call> = <order> | <where> | <pay> | <talk> | <change> | <short>;
`,
    sentences: [
      'i would like to order two tickets',
      'i would like to return five boxes',
      'i would like to order ten candles',
      'where is my parcel',
      'where is my refund',
      'i want to pay by card',
      'i want to pay in cash',
      'please connect me to the service desk',
      'let me speak to a manager',
      'change my delivery date',
      'no thank you',
      'repeat that',
      'main menu',
    ],
    foreign: {
      sentence: [
        'the river froze early and the children went skating',
        'we heard thunder far away behind the hills',
        'she plays the violin in a small orchestra',
        'he forgot his umbrella on the bus again',
        'the museum is closed for repairs until spring',
        'a heavy truck was blocking half of the bridge',
      ],
      near: [
        'i would like to order two hammers',
        'where is my sister',
        'i want to pay by phone',
        'please connect me to the river desk',
        'change my delivery truck',
      ],
      mixed: [
        'my manager would like the ten boxes please',
        'let the team return to me',
        'a card is in my address book',
      ],
      longer: [
        'where is my parcel that was sent from another country',
        'the woman at the door said i want to pay in cash',
        'no thank you we already have enough of them at home',
        'repeat that for everybody who came too late',
      ],
      fragment: ['i would like to', 'to the service', 'by card'],
      word: ['umbrella', 'purple', 'wednesday', 'library'],
      digits: ['six eight two', 'nine zero seven four', 'one six eight three nine'],
    },
  },
  {
    name: 'menu',
    jsgf: `#JSGF V1.0;
grammar menu;
public <choice> = north | south | east | west | pause | continue | skip | apple | banana | cherry | lemon | orange | red | green
  | yellow | silver | small | large | agent | billing | operator | spanish | weather | traffic | sports | go | up | delivery;
`,
    sentences:
      'north south east west pause continue skip apple banana cherry lemon orange red green yellow silver small large agent billing operator spanish weather traffic sports go up delivery'.split(
        ' ',
      ),
    foreign: {
      sentence: [
        'the boat was painted again last winter',
        'we should talk about it on the way home',
        'her daughter plays chess with the neighbours',
        'they have never been to an island before',
        'most of the chairs in here are broken',
        'it is too late to call him now',
      ],
      longer: [
        'apple pie is what my grandmother made for us',
        'somebody has eaten the last banana',
        'weather like this never lasts very long',
        'we drove for three hours and turned north',
      ],
      mixed: ['it is warm today', 'where did he put it', 'a cup of tea'],
      fragment: ['thank you', 'of course', 'right now', 'not yet', 'good idea', 'how much', 'is here', 'for you'],
      word: 'table window doctor river paper summer yesterday wonderful chair bread milk house street music seven hundred tomorrow because quickly blue tall bike pencil kitchen forest animal question money husband teacher mountain evening family and it two her'.split(
        ' ',
      ),
      letter: ['b', 'k', 'r', 't'],
    },
  },
]

/**
 * Voices that the weights are fitted to, voices that they never met, and British ones, whose accent the acoustic model
 * does not know: they are measured apart and fit nothing.
 */
export const voices = {
  fitted: [
    { program: 'flite', voice: 'slt' },
    { program: 'flite', voice: 'awb' },
    { program: 'espeak-ng', voice: 'en-us' },
    { program: 'espeak-ng', voice: 'en-us+f4' },
    { program: 'espeak-ng', voice: 'en-us+m3' },
  ],
  unfitted: [
    { program: 'flite', voice: 'rms' },
    { program: 'flite', voice: 'kal16' },
    { program: 'espeak-ng', voice: 'en-us+m7' },
    { program: 'espeak-ng', voice: 'en-us+f2' },
    { program: 'espeak-ng', voice: 'en-us+m1' },
  ],
  british: [
    { program: 'espeak-ng', voice: 'en-gb+m3' },
    { program: 'espeak-ng', voice: 'en-gb-scotland+m5' },
  ],
}

export const noises = ['clean', 'white', 'pink']

const gaussian = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** Noise with a flat spectrum, or with 3 dB less for each octave (a sum of five first-order filters). */
const noiseOf = (kind, length, random) => {
  const poles = [0.99886, 0.99332, 0.969, 0.8665, 0.55]
  const gains = [0.0555179, 0.0750759, 0.153852, 0.3104856, 0.5329522]
  const states = poles.map(() => 0)
  return Float64Array.from({ length }, () => {
    const white = gaussian(random)
    if (kind === 'white') return white
    let sum = 0
    for (const [at, pole] of poles.entries()) {
      states[at] = pole * states[at] + gains[at] * white
      sum += states[at]
    }
    return sum + 0.5362 * white
  })
}

const powerOf = (samples) => samples.reduce((sum, value) => sum + value * value, 0) / Math.max(samples.length, 1)

const signalToNoiseDb = 20
const marginSamples = 4000

/** Half a second of the line's noise before and after the speech, and the noise below all of it. */
export const onLine = (speech, noise, random) => {
  const length = speech.length + 2 * marginSamples
  const added = noiseOf(noise === 'clean' ? 'white' : noise, length, random)
  // Of a clean line remains what a telephone has at -60 dBFS.
  const wanted = noise === 'clean' ? 30 ** 2 : powerOf(speech) / 10 ** (signalToNoiseDb / 10)
  const gain = Math.sqrt(wanted / powerOf(added))
  return Int16Array.from({ length }, (_none, at) => {
    const sample = (speech[at - marginSamples] ?? 0) + gain * added[at]
    return Math.max(-32_768, Math.min(32_767, Math.round(sample)))
  })
}

const speakTo = (file, { program, voice }, text, random) => {
  if (program === 'flite') {
    const stretch = (0.9 + 0.25 * random()).toFixed(3)
    execFileSync('flite', ['-voice', voice, '--setf', `duration_stretch=${stretch}`, '-t', text, '-o', file])
  } else {
    const wordsPerMinute = String(Math.round(130 + 45 * random()))
    execFileSync('espeak-ng', ['-v', voice, '-s', wordsPerMinute, '-w', file, text])
  }
}

/** Every utterance of a grammar once: its text, its kind (`in` for those of the grammar), its voice. */
export const utterancesOf = ({ name, sentences, foreign }, group) => {
  const texts = [['in', sentences], ...Object.entries(foreign)].flatMap(([kind, list]) =>
    list.map((text) => ({ kind, text })),
  )
  return voices[group].flatMap((voice) => texts.map((item) => ({ ...item, grammar: name, group, voice })))
}

const seedOf = ({ grammar, text, voice }) =>
  [...`${grammar}/${voice.program}/${voice.voice}/${text}`].reduce(
    (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0,
    2_166_136_261,
  )

/**
 * Speaks an utterance, unless it has the file of a recording; `read` makes samples of 8 kHz of a WAV file. Its level
 * varies by 16 dB.
 */
export const spoken = async (utterance, read) => {
  const random = randomSource(seedOf(utterance))
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-spoken-'))
  try {
    const file = utterance.file ?? join(folder, 'speech.wav')
    if (utterance.file === undefined) speakTo(file, utterance.voice, utterance.text, random)
    const speech = Float64Array.from(await read(file))
    // Between -34 and -18 dBFS.
    const gain = (655 * 6 ** random()) / Math.sqrt(powerOf(speech))
    return { speech: speech.map((sample) => gain * sample), random }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** An utterance on a clean line, and on lines with white and pink noise at 20 dB. */
export const recordingsOf = async (utterance, read) => {
  const { speech, random } = await spoken(utterance, read)
  return noises.map((noise) => ({ ...utterance, noise, samples: onLine(speech, noise, random) }))
}
