"""Why a policy picked what it picked: arms, groups, runners-up, and what was known."""
