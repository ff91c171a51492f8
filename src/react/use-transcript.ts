import { useEffect, useState } from 'react'
import type { Observable } from 'rxjs'
import type { SessionEvent } from '../protocol/session-event.js'
import { noTranscript, watchTranscript, type TranscriptView } from './transcript-view.js'

/**
 * Runs a session while the component is mounted, and returns its transcript and state. Another Observable replaces the
 * session, which is aborted; `undefined` is no session. Keep the Observable between renders, with `useMemo` or
 * `useState`: a new one for each render would start a new session each time.
 *
 * @example
 * import { useMemo } from 'react'
 * const session$ = useMemo(() => recognize({ url, token, model: 'call', format })(audio$), [audio$])
 * const { text, state, error } = useTranscript(session$)
 */
export const useTranscript = (session$: Observable<SessionEvent> | undefined): TranscriptView => {
  const [shown, show] = useState({ session$, view: noTranscript })
  useEffect(() => {
    const subscription = session$ && watchTranscript(session$).subscribe((view) => show({ session$, view }))
    return () => subscription?.unsubscribe()
  }, [session$])
  // Until the effect of this render runs, the state belongs to the session before.
  return shown.session$ === session$ ? shown.view : noTranscript
}
