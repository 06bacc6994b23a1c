import type { Request, Response } from 'express';

/** Answers what is refused: JSON for programs, a line of text for people. */
export function refuse(req: Request, res: Response, status: number, error: string): void {
  res.status(status);
  if (req.path.startsWith('/api/') || !req.accepts('html')) res.json({ error });
  else res.type('text').send(`${error}\n`);
}
