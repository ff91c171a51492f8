// Live captions: two lines of at most 40 characters, which scroll and never change.
//
//   npm run build && npx ts-node docs/recipes/captions.ts
//
// In an app, `microphone$` is an Observable that emits PCM while it is recorded. Here the sample call takes its place,
// at 20 times real time.

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { distinctUntilChanged, finalize, from, map, share, switchMap, takeWhile, type Observable } from 'rxjs'
import { transcript, deinterleave, pace, readWav, recognize, type AudioFormat } from 'rxspeech'
import { inMemoryService } from 'rxspeech-service/testing'

const samples = join(__dirname, '../../samples')
const format: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }

const microphone$: Observable<Uint8Array> = from(readWav(createReadStream(join(samples, 'call.wav')))).pipe(
  switchMap(({ audio, format: stereo }) =>
    pace({ format: stereo, speed: 20 })(audio).pipe(deinterleave({ format: stereo })),
  ),
  map(([speaker]) => speaker),
  // A session subscribes once. `share` lets a level meter or a recorder use the same audio.
  share(),
)

/** The last two lines of a text that wraps between words. A full line never changes. */
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
    transcript(),
    map(({ channels: [channel] }) => channel),
    takeWhile((channel) => channel?.closed !== true, true),
    // Committed text never changes. For a shorter delay, show `channel.partial` after it in gray; that text may change.
    map((channel) => lastLines(channel?.committed ?? '').join('\n')),
    distinctUntilChanged(),
    finalize(() => void service.close()),
  )
  .subscribe((caption) => {
    if (caption !== '') console.log(`${caption}\n`)
  })
