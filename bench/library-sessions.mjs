// The same sessions with the library: an Observable or iterable of audio as input, the union of events as output.
import { lastValueFrom, Observable } from 'rxjs'
import { dataflow } from '../dist/cjs/grpc.js'
import { recognize } from '../dist/cjs/index.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

const operators = {
  websocket: (address) => recognize({ url: address.ws, token: 't', model: 'm', format }),
  grpc: (address) =>
    dataflow({ url: address.grpc, insecure: true, token: 't', tenant: 'Default', project: 'p', format }),
}

const openLibrary = (transport) => async (address) => {
  const operator = operators[transport](address)
  // A wrapper of an audio device would do the same: a `Subject` costs about as much for each chunk as the whole
  // library.
  let microphone
  const source$ = new Observable((subscriber) => {
    microphone = subscriber
  })
  let subscription
  await new Promise((resolve, reject) => {
    subscription = source$.pipe(operator).subscribe({
      next: (event) => event.type === 'connection' && event.state === 'streaming' && resolve(),
      error: reject,
    })
  })
  return {
    push: (bytes) => microphone.next(bytes),
    flood: async (bytes, count) => {
      subscription.unsubscribe()
      const chunks = function* () {
        for (let sent = 0; sent < count; sent += 1) yield bytes
      }
      await lastValueFrom(operator(chunks()))
    },
    close: () => subscription.unsubscribe(),
  }
}

export const openWithLibrary = { websocket: openLibrary('websocket'), grpc: openLibrary('grpc') }
