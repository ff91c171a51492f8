// Runs in a project that has only rxspeech and rxjs: a session over each transport, with sockets, and a cassette.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { from, lastValueFrom, toArray } from 'rxjs'
import { isSpeechError, recognize, transcode } from 'rxspeech'
import { parseCassette, record, replay } from 'rxspeech/cassette'
import { dataflow } from 'rxspeech/grpc'
import { positionAudio, verifyingService } from 'rxspeech/testing'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const chunks = Array.from({ length: 50 }, (_, chunk) => positionAudio(chunk * 160, 160))
const source = { sampleCount: 50 * 160, sampleRateHz: 8000 }

/** @param {import('rxjs').Observable<import('rxspeech').SessionEvent>} session */
const textOf = async (session) =>
  (await lastValueFrom(session.pipe(toArray())))
    .flatMap((event) => (event.type === 'milestone' ? [event.text] : []))
    .join('')

const verifying = verifyingService()
const { url, address, close } = await verifying.listen()
const text = verifying.transcript(source)
assert.equal(await textOf(recognize({ url, token: 'any', model: 'any', format })(chunks)), text)
const options = { url: address, connection: { insecure: true }, token: 'any', tenant: 'any', project: 'any', format }
assert.equal(await textOf(dataflow(options)(chunks)), text)

/** @type {string[]} */
const lines = []
const recorded = record((line) => void lines.push(line))(recognize, { url, token: 'any', model: 'any', format })
const events = await lastValueFrom(recorded(chunks).pipe(toArray()))
await close()
const { recognizer } = replay(parseCassette(lines))
assert.equal((await lastValueFrom(recognize(recognizer())(chunks).pipe(toArray()))).length, events.length)

// µ-law has one byte per sample.
const telephone = await lastValueFrom(transcode({ from: 'pcm', to: 'ulaw' })(from(chunks)).pipe(toArray()))
assert.equal(
  telephone.reduce((bytes, { byteLength }) => bytes + byteLength, 0),
  source.sampleCount,
)

// ESM and CommonJS share one error class, or at least recognize each other's errors.
const required = createRequire(import.meta.url)('rxspeech')
assert.ok(isSpeechError(new required.SpeechError('internal', 'For a test.')))

console.log(process.version)
