"""Rewards: u of a super arm and v_G of a group, their structure, and the promises made of them."""
