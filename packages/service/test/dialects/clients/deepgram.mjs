// The package `@deepgram/sdk` 5: a stream, a recording, and what is refused.
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { DeepgramClient, DeepgramError } from '@deepgram/sdk'
import { linger, record, samples } from './steps.mjs'

const { BASE, KEY, RECORDING } = process.env
const clientOf = (apiKey) => new DeepgramClient({ apiKey, baseUrl: BASE })
const wav = await readFile(RECORDING)
const { rate } = samples()
const linear16 = { model: 'nova-3', encoding: 'linear16', sample_rate: rate, interim_results: 'true' }

const listen = async (options, audio, apiKey = KEY) => {
  const socket = await clientOf(apiKey).listen.v1.connect({ Authorization: `Token ${apiKey}`, ...options })
  const heard = { texts: [], types: {}, interims: 0, opens: 0, errors: [] }
  const closed = new Promise((resolve) => socket.on('close', ({ code }) => resolve(code)))
  socket.on('open', () => (heard.opens += 1))
  socket.on('error', ({ message }) => heard.errors.push(message))
  socket.on('message', (message) => {
    heard.types[message.type] = (heard.types[message.type] ?? 0) + 1
    if (message.type !== 'Results') return
    const [{ transcript }] = message.channel.alternatives
    if (!message.is_final) heard.interims += 1
    else if (transcript !== '') heard.texts.push(transcript)
  })
  socket.connect()
  try {
    await socket.waitForOpen()
    for (let at = 0; at < audio.length; at += 1600) socket.sendMedia(audio.subarray(at, at + 1600))
    socket.sendKeepAlive({ type: 'KeepAlive' })
    socket.sendFinalize({ type: 'Finalize' })
    socket.sendCloseStream({ type: 'CloseStream' })
  } catch (error) {
    heard.errors.push(error.message)
  }
  const code = await closed
  const { texts, types, ...others } = heard
  return { text: texts.join(' '), code, metadata: types.Metadata, hasInterims: others.interims > 0, ...others }
}

const transcribe = (options, apiKey = KEY, file = createReadStream(RECORDING)) =>
  clientOf(apiKey).listen.v1.media.transcribeFile(file, { model: 'nova-3', ...options })
const textOf = ({ results }) => results.channels[0].alternatives[0].transcript

// A file in memory, because a stream cannot be sent again.
await record('a full service', async () => textOf(await transcribe({}, KEY, wav)))
await record('a stream', () => listen(linear16, wav.subarray(44)))
await record('a WAV file as a stream', () => listen({ model: 'nova-3' }, wav))
await record('a wrong key', () => listen(linear16, wav.subarray(44), 'wrong'))

const errorOf = async (answer) => {
  const error = await answer.catch((caught) => caught)
  return { isTyped: error instanceof DeepgramError, status: error.statusCode, code: error.body?.err_code }
}
await record('a recording', async () => {
  const { metadata, results } = await transcribe({ utterances: true, smart_format: true })
  const [{ transcript, words }] = results.channels[0].alternatives
  return {
    text: transcript,
    words: words.map(({ word }) => word).join(' '),
    utterances: results.utterances.map((one) => one.transcript).join(' '),
    hasId: typeof metadata.request_id === 'string',
  }
})
await record('an option', () => errorOf(transcribe({ summarize: 'v2' })))
await record('an address', () =>
  errorOf(clientOf(KEY).listen.v1.media.transcribeUrl({ url: 'https://example.com/a.wav', model: 'nova-3' })),
)
await record('a recording with a wrong key', () => errorOf(transcribe({}, 'wrong')))
// It connects again by itself after every close but 1000.
await linger()
