// Captions from live audio: two lines on the screen, of at most 40 characters, that only ever scroll.
//
//   npm run build && npx ts-node docs/recipes/captions.ts
//
// In an app `microphone$` is yours: an Observable of PCM that emits as it is recorded. Here the sample call plays in its
// place, 20 times as fast as it was spoken.

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { distinctUntilChanged, finalize, from, map, share, switchMap, takeWhile, type Observable } from 'rxjs'
import { accumulateMilestones, deinterleave, pace, readWav, recognize, type AudioFormat } from 'rxspeech'
import { inMemoryService } from 'rxspeech/testing'

const samples = join(__dirname, '../../samples')
const format: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

const microphone$: Observable<Uint8Array> = from(readWav(createReadStream(join(samples, 'call.wav')))).pipe(
  switchMap(({ audio, format: stereo }) =>
    pace({ format: stereo, speed: 20 })(audio).pipe(deinterleave({ format: stereo })),
  ),
  map(([speaker]) => speaker),
  // A session subscribes once. Whoever wants the audio elsewhere too (a level meter, a recorder) shares it here.
  share(),
)

/** The last two lines of a text, cut between words. Lines that are full never change again. */
const lastLines = (text: string, width = 40): readonly string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || `${line} ${word}`.length > width) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.slice(-2)
}

const service = inMemoryService({ modelFolders: [join(samples, 'models')] })

microphone$
  .pipe(
    recognize(service.recognizer({ format })),
    accumulateMilestones(),
    map(({ channels: [channel] }) => channel),
    takeWhile((channel) => channel?.closed !== true, true),
    // The committed text alone never flickers. For less delay and some flicker, show `channel.partial` after it, greyed.
    map((channel) => lastLines(channel?.committed ?? '').join('\n')),
    distinctUntilChanged(),
    finalize(() => void service.close()),
  )
  .subscribe((caption) => {
    if (caption !== '') console.log(`${caption}\n`)
  })
